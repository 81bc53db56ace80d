package io.waybill.host;

import java.util.concurrent.locks.LockSupport;

/**
 * Factory of the core's threads.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
@FunctionalInterface
public interface Threads {

    /** Starts a daemon thread that is named for its role and runs {@code body} once. */
    Thread start(String name, Runnable body);

    /** Returns whether this is a virtual thread, which takes its carrier along when it waits in native code. */
    static boolean isVirtual(Thread thread) {
        return HostThreads.isVirtual(thread);
    }

    /** Lets the calling thread rest about this long; returns early when it is interrupted or unparked. */
    default void pause(long ns) {
        LockSupport.parkNanos(ns);
    }
}
