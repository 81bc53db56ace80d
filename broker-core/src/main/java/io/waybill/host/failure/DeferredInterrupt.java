package io.waybill.host.failure;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;

/** Keeps an interrupt of the calling thread away from a channel of the JDK's, which it would close. Stateless. */
public final class DeferredInterrupt {

    private DeferredInterrupt() {}

    /** Opens a channel, uses and closes it. May be repeated. */
    @FunctionalInterface
    public interface Step<T> {
        T run() throws IOException;
    }

    /** Runs a step, from scratch when an interrupt ends it. The thread has the interrupt afterwards. */
    public static <T> T during(Step<T> step) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    return step.run();
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
