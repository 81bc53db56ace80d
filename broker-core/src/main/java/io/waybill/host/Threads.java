package io.waybill.host;

import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Factory of the core's threads.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
@FunctionalInterface
public interface Threads {

    /**
     * Starts a daemon thread that is named for its role and runs {@code body} once. The {@link Host}'s throws a {@link RefusedException} when
     * there is none; that of others may throw anything.
     */
    Thread start(String name, Runnable body);

    /**
     * Starts a thread, now or later: a start that is refused is reported once, and tried again at each {@link #retry} until it succeeds. So the
     * caller may count on it, and does not throw for it.
     */
    default void startWhenPossible(String name, Runnable body) {
        start(name, body);
    }

    /** Tries the starts again that were refused. Costs nothing when there are none. */
    default void retry() {}

    /** Returns the number of threads that are to start and were refused until now. */
    default int late() {
        return 0;
    }

    /**
     * Before foreign code that is called in the middle of something else: it does not see an interrupt that is pending for that.
     *
     * @return the argument for {@link #restoreInterrupt}
     */
    static boolean hideInterrupt() {
        return Thread.interrupted();
    }

    /**
     * After that code: the thread has the interrupt that it had before. What the code left behind is cleared on {@linkplain #isOurs our threads}; on
     * one of the program it may be the program's, and stays.
     */
    static void restoreInterrupt(boolean pending) {
        Thread thread = Thread.currentThread();
        if (pending) {
            thread.interrupt();
        } else if (thread.isInterrupted() && isOurs(thread)) {
            Thread.interrupted();
        }
    }

    /** Returns whether this is a virtual thread, which takes its carrier along when it waits in native code. */
    static boolean isVirtual(Thread thread) {
        return HostThreads.isVirtual(thread);
    }

    /** Returns whether the core has started this thread, so that no interrupt of the program's can be meant for it. */
    static boolean isOurs(Thread thread) {
        return thread instanceof HostThreads.Own;
    }

    /** Lets the calling thread rest about this long; returns early when it is interrupted or unparked. */
    default void pause(long ns) {
        LockSupport.parkNanos(ns);
    }

    /** The host gives no thread. */
    final class RefusedException extends RuntimeException {
        private static final long serialVersionUID = 1;

        RefusedException(String name, Throwable cause) {
            super(
                    "no thread for " + name + ": the host refused it (" + cause
                            + "); raise the limit of threads (ulimit -u, TasksMax, or pids.max of the container)",
                    cause);
        }
    }

    /** Threads whose starts are repeated. */
    final class Repeated implements Threads {

        private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

        private final Threads threads;
        private final ConcurrentLinkedDeque<Late> refused = new ConcurrentLinkedDeque<>();
        private final AtomicInteger late = new AtomicInteger();

        private record Late(String name, Runnable body) {}

        private Repeated(Threads threads) {
            this.threads = threads;
        }

        static Repeated of(Threads threads) {
            return threads instanceof Repeated repeated ? repeated : new Repeated(threads);
        }

        @Override
        public Thread start(String name, Runnable body) {
            try {
                return threads.start(name, body);
            } catch (RuntimeException | OutOfMemoryError e) { // the latter is how the JVM says it
                throw new RefusedException(name, e);
            }
        }

        @Override
        public void startWhenPossible(String name, Runnable body) {
            try {
                start(name, body);
            } catch (RefusedException e) {
                late.incrementAndGet();
                refused.addLast(new Late(name, body));
                LOG.warn("{} is late, and is tried again until it starts: {}", name, e.getMessage());
            }
        }

        @Override
        public void retry() {
            for (Late next = late.get() == 0 ? null : refused.pollFirst(); next != null; next = refused.pollFirst()) {
                try {
                    start(next.name(), next.body());
                } catch (RefusedException e) {
                    refused.addFirst(next);
                    return;
                }
                late.decrementAndGet();
                LOG.info("{} has its thread now", next.name());
            }
        }

        @Override
        public int late() {
            return late.get();
        }

        @Override
        public void pause(long ns) {
            threads.pause(ns);
        }
    }
}
