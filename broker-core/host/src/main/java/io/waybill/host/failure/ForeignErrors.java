package io.waybill.host.failure;

import org.slf4j.Logger;

/**
 * Describes and logs exceptions of foreign code. Such an exception may be of a bundle's own class, whose methods throw
 * as well: callers log it, or put it into a text, through this class, and are not interrupted by it.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ForeignErrors {

    private ForeignErrors() {}

    /** Returns the class and message of an exception in one line. Does not throw. */
    public static String describe(Throwable e) {
        try {
            return String.valueOf(e.toString());
        } catch (Throwable inMessage) {
            return e.getClass().getName();
        }
    }

    /** Returns the message of an exception, or its class if there is none. Does not throw. */
    public static String message(Throwable e) {
        try {
            String message = e.getMessage();
            return message == null ? e.getClass().getName() : message;
        } catch (Throwable inMessage) {
            return e.getClass().getName();
        }
    }

    /** Logs an exception with its stack, or without if that can't be read. Does not throw. */
    public static void warn(Logger log, String text, Throwable e) {
        try {
            log.warn(text, e);
        } catch (Throwable inLog) {
            log.warn("{}: {}, which can't be shown", text, e.getClass().getName());
        }
    }
}
