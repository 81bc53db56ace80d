package io.waybill.host.failure;

import io.waybill.host.NativeCallException;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import jnr.constants.platform.Errno;

/**
 * Distinguishes failures of this process's own system calls from wrong data: the host gave it no descriptor, memory,
 * thread or disk space, or the disk failed. The file that was used may be a peer's, and is whole.
 *
 * <p>The JDK and Chronicle report such an error in exceptions without its number, so it is recognised by the system's
 * text for it, too.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HostFailures {

    private static final int MAX_CAUSES = 12;
    private static final String LIBRARY = "net.openhft.";
    private static final List<Errno> OWN =
            List.of(Errno.EMFILE, Errno.ENFILE, Errno.ENOMEM, Errno.ENOSPC, Errno.EDQUOT, Errno.EIO, Errno.EAGAIN);
    private static final Map<String, Errno> BY_TEXT = texts();

    private HostFailures() {}

    private static Map<String, Errno> texts() {
        Map<String, Errno> texts = new LinkedHashMap<>();
        for (Errno errno : OWN) {
            texts.put(errno.toString(), errno);
            texts.put(NativeCallException.systemText(errno.intValue()), errno); // in the language of the process
        }
        return texts;
    }

    /** Returns whether this was caused by a failed system call of this process. */
    public static boolean is(Throwable e) {
        return !of(e).isEmpty();
    }

    /**
     * Returns the error of the failed call, such as {@code ENOMEM (Cannot allocate memory)}; empty when the cause is
     * another one.
     */
    public static String of(Throwable e) {
        Throwable cause = e;
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++) {
            String failure = ofThis(cause);
            if (!failure.isEmpty()) {
                return failure;
            }
            cause = cause.getCause();
        }
        return "";
    }

    /**
     * Returns the message of an exception. A message of the queue's library describes the library's internals, and
     * nothing of the file: then the message of its cause is returned.
     */
    public static String text(Throwable e) {
        Throwable shown = e;
        for (int depth = 0; isOfLibrary(shown) && shown.getCause() != null && depth < MAX_CAUSES; depth++) {
            shown = shown.getCause();
        }
        String message = shown.getMessage() == null ? shown.toString() : shown.getMessage();
        return isOfLibrary(shown) ? "Chronicle Queue failed: " + message : message;
    }

    private static boolean isOfLibrary(Throwable e) {
        StackTraceElement[] stack = e.getStackTrace();
        return e.getClass().getName().startsWith(LIBRARY)
                || stack.length > 0 && stack[0].getClassName().startsWith(LIBRARY);
    }

    /**
     * Returns the {@link #text} of an exception, with the error of the failed call before it if that is not part of it.
     */
    public static String describe(Throwable e) {
        String failure = of(e);
        String message = text(e);
        return failure.isEmpty() || message.contains(failure) ? message : failure + ": " + message;
    }

    private static String ofThis(Throwable e) {
        if (e instanceof NativeCallException call) {
            return OWN.stream()
                    .filter(errno -> errno.name().equals(call.errno()))
                    .findFirst()
                    .map(HostFailures::name)
                    .orElse("");
        }
        if (e instanceof OutOfMemoryError) {
            return e.getMessage() != null && e.getMessage().contains("thread")
                    ? name(Errno.EAGAIN)
                    : name(Errno.ENOMEM);
        }
        if (!(e instanceof IOException) || e.getMessage() == null) {
            return "";
        }
        String message = e.getMessage();
        for (Map.Entry<String, Errno> known : BY_TEXT.entrySet()) {
            // alone, after a path and a colon, or after a path in parentheses
            if (message.endsWith(known.getKey()) || message.endsWith(known.getKey() + ")")) {
                return name(known.getValue());
            }
        }
        return "";
    }

    private static String name(Errno errno) {
        return errno.name() + " (" + errno + ")";
    }
}
