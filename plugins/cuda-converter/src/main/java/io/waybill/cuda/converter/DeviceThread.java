package io.waybill.cuda.converter;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Thread of one device for work that waits for the device and concerns no call: completion of copies, and freeing of
 * memory. Runs tasks in order, and starts with the first one. If the host refuses a thread, due tasks run on the
 * calling thread.
 */
final class DeviceThread {

    private static final long LIMIT_S = 30;

    private final ScheduledThreadPoolExecutor executor;

    DeviceThread(String name) {
        this(task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    DeviceThread(ThreadFactory threads) {
        executor = new ScheduledThreadPoolExecutor(1, threads);
    }

    /** Runs a task later; immediately on the calling thread after {@link #close}. */
    void run(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) { // closed
            task.run();
        } catch (OutOfMemoryError e) {
            runQueued();
        }
    }

    /**
     * Runs the due tasks of the queue, because the host refused a thread. A later task starts the thread for the
     * others.
     */
    private void runQueued() {
        for (Runnable next = executor.getQueue().poll();
                next != null;
                next = executor.getQueue().poll()) {
            next.run();
        }
    }

    /**
     * Runs a task after a delay, without delaying other tasks; immediately on the calling thread after {@link #close}.
     */
    void run(Runnable task, long delayMs) {
        try {
            executor.schedule(task, delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) { // closed
            task.run();
        } catch (OutOfMemoryError e) {
            runQueued();
        }
    }

    /** Waits for the present tasks, except those with a delay. */
    void drain() {
        CountDownLatch drained = new CountDownLatch(1);
        run(drained::countDown);
        try {
            if (!drained.await(LIMIT_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException("copies have not ended within " + LIMIT_S + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while copies ended", e);
        }
    }

    /** Waits for the tasks, and stops the thread; returns false if they have not finished in time. */
    boolean close() {
        executor.shutdown();
        boolean interrupted = false;
        boolean ended = false;
        try {
            ended = executor.awaitTermination(LIMIT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return ended;
    }
}
