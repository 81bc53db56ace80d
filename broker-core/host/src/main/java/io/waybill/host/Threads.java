package io.waybill.host;

import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Factory of the core's threads, with the ways in which they wait for each other.
 *
 * <p>All code that blocks the calling thread, or repeats until another thread does something, uses this interface, so
 * that one thread may run the bodies of all others meanwhile.
 *
 * <p><b>Threads.</b> Thread-safe. A wait is the calling thread's.
 */
@FunctionalInterface
public interface Threads {

    /**
     * Starts a daemon thread that is named for its role and runs {@code body} once. The {@link Host}'s throws a
     * {@link RefusedException} when there is no thread; other implementations may throw anything.
     */
    Thread start(String name, Runnable body);

    /**
     * Starts a thread, now or later: a start that is refused is reported once, and tried again at each {@link #retry}
     * until it succeeds. So the caller can rely on it, and does not throw for it.
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
     * Clears a pending interrupt of the calling thread before foreign code that is called in the middle of something
     * else: that code does not see the interrupt.
     *
     * @return the argument for {@link #restoreInterrupt}
     */
    static boolean hideInterrupt() {
        return Thread.interrupted();
    }

    /**
     * Restores the interrupt of the calling thread after foreign code. An interrupt that the code left behind is
     * cleared on {@linkplain #isOurs our threads}; on a thread of the program it may be the program's, and stays.
     */
    static void restoreInterrupt(boolean pending) {
        Thread thread = Thread.currentThread();
        if (pending) {
            thread.interrupt();
        } else if (thread.isInterrupted() && isOurs(thread)) {
            Thread.interrupted();
        }
    }

    /** Returns whether this is a virtual thread, which blocks its carrier when it waits in native code. */
    static boolean isVirtual(Thread thread) {
        return HostThreads.isVirtual(thread);
    }

    /** Returns whether the core has started this thread, so that no interrupt of the program's can be meant for it. */
    static boolean isOurs(Thread thread) {
        return thread instanceof HostThreads.Own;
    }

    /** Pauses the calling thread for about this time; returns early when it is interrupted or unparked. */
    default void pause(long ns) {
        LockSupport.parkNanos(ns);
    }

    /**
     * Parks the calling thread until it is {@linkplain #unpark unparked} or interrupted, or for this time. It may
     * return earlier.
     *
     * @param blocker object that tools show as the reason of the wait
     */
    default void park(Object blocker, long maxNs) {
        LockSupport.parkNanos(blocker, maxNs);
    }

    /** Ends the {@link #park} or {@link #pause} of a thread, or else its next one; does nothing for null. */
    default void unpark(Thread thread) {
        LockSupport.unpark(thread);
    }

    /**
     * Hints that the calling thread repeats until another one has changed something. Must be called in each such loop,
     * or other threads may not run.
     */
    default void spin() {
        Thread.onSpinWait();
    }

    /**
     * Separates two rounds of a loop that may have work in each, and then never waits: other threads may run where only
     * one runs at a time.
     */
    default void endRound() {}

    /** Lets other ready threads run before the calling one continues. */
    default void giveWay() {
        Thread.yield();
    }

    /** Waits like {@link Object#wait(long)} on a monitor of the calling thread's. It may return earlier. */
    default void waitOn(Object monitor, long maxMs) throws InterruptedException {
        monitor.wait(maxMs);
    }

    /**
     * Waits in another way than the other methods, such as in the kernel. Allocates nothing.
     *
     * @param wait waits for at most this number of nanoseconds, and returns whether the awaited event happened; with 0
     * it only checks
     * @return the result of the wait
     */
    default boolean await(LongPredicate wait, long maxNs) {
        return wait.test(maxNs);
    }

    /** Waits until a future is done, or for this time. Returns whether it is done. */
    default boolean await(Future<?> future, long maxNs) throws InterruptedException {
        try {
            future.get(maxNs, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException | CancellationException e) { // the caller handles the outcome
            return true;
        }
        return true;
    }

    /** Waits until a thread that was started here has ended, or for this time. Returns whether it has ended. */
    default boolean join(Thread thread, long maxNs) throws InterruptedException {
        TimeUnit.NANOSECONDS.timedJoin(thread, maxNs);
        return !thread.isAlive();
    }

    /** Returns whether a thread that was started here has not ended. */
    default boolean isAlive(Thread thread) {
        return thread.isAlive();
    }

    /** Returns the calling thread, for callers that compare or unpark it. It need not be the JVM's. */
    default Thread current() {
        return Thread.currentThread();
    }

    /** Creates a variable of which each {@linkplain #current thread} has its own value, null at first. */
    default <T> ThreadLocal<T> local() {
        return new ThreadLocal<>();
    }

    /** Thrown when the host gives no thread. */
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
            } catch (RuntimeException | OutOfMemoryError e) { // the JVM throws the latter when it has no thread
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

        @Override
        public void park(Object blocker, long maxNs) {
            threads.park(blocker, maxNs);
        }

        @Override
        public void unpark(Thread thread) {
            threads.unpark(thread);
        }

        @Override
        public void spin() {
            threads.spin();
        }

        @Override
        public void endRound() {
            threads.endRound();
        }

        @Override
        public void giveWay() {
            threads.giveWay();
        }

        @Override
        public void waitOn(Object monitor, long maxMs) throws InterruptedException {
            threads.waitOn(monitor, maxMs);
        }

        @Override
        public boolean await(LongPredicate wait, long maxNs) {
            return threads.await(wait, maxNs);
        }

        @Override
        public boolean await(Future<?> future, long maxNs) throws InterruptedException {
            return threads.await(future, maxNs);
        }

        @Override
        public boolean join(Thread thread, long maxNs) throws InterruptedException {
            return threads.join(thread, maxNs);
        }

        @Override
        public boolean isAlive(Thread thread) {
            return threads.isAlive(thread);
        }

        @Override
        public Thread current() {
            return threads.current();
        }

        @Override
        public <T> ThreadLocal<T> local() {
            return threads.local();
        }
    }
}
