package io.waybill.bench.measure;

import io.waybill.api.Message;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.concurrent.TimeUnit;

/**
 * The called handler: it gives the payload back, after it has been busy for a while.
 *
 * @param kind how it is declared
 * @param busyMicros how long it keeps a processor busy
 */
public record EchoHandler(Kind kind, int busyMicros) implements MessageHandler {

    /** How a handler is declared. */
    public enum Kind {
        /** Without an annotation: it may block. */
        PLAIN,
        /** {@code @NonBlocking}. */
        NONBLOCKING
    }

    /** Non-blocking, and at once. */
    public static final EchoHandler EMPTY = new EchoHandler(Kind.NONBLOCKING, 0);

    @Override
    public void handle(Message message, Outbox outbox) {
        if (busyMicros > 0) {
            long untilNs = System.nanoTime() + TimeUnit.MICROSECONDS.toNanos(busyMicros);
            while (System.nanoTime() - untilNs < 0) {
                Thread.onSpinWait();
            }
        }
        outbox.respond(message.payload());
    }

    public boolean isNonBlocking() {
        return kind == Kind.NONBLOCKING;
    }

    /** The argument of a process, for {@link #parse}. */
    public String argument() {
        return kind + ":" + busyMicros;
    }

    /** Returns the handler of an {@link #argument}. */
    public static EchoHandler parse(String argument) {
        String[] parts = argument.split(":");
        return new EchoHandler(Kind.valueOf(parts[0]), Integer.parseInt(parts[1]));
    }
}
