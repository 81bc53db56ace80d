package io.waybill.cuda.converter;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Thread of one device for what waits for the device and concerns no call: ends of copies, and memory to be freed. Runs tasks in order, and exists from
 * the first one on.
 * When the host gives no thread, those that are due run on the calling one.
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

    /** Runs a task later; at once, on this thread, after {@link #close}. */
    void run(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) { // closed
            task.run();
        } catch (OutOfMemoryError e) {
            runQueued();
        }
    }

    /** The host gave no thread, and the task is queued: runs what is due. Another task starts the thread for those that are not. */
    private void runQueued() {
        for (Runnable next = executor.getQueue().poll();
                next != null;
                next = executor.getQueue().poll()) {
            next.run();
        }
    }

    /** Runs a task after a time, while other tasks go on; at once, on this thread, after {@link #close}. */
    void run(Runnable task, long delayMs) {
        try {
            executor.schedule(task, delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) { // closed
            task.run();
        } catch (OutOfMemoryError e) {
            runQueued();
        }
    }

    /** Waits for the tasks until now, but for those with a delay. */
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

    /** Waits for the tasks, and ends the thread. Returns false when they have not ended in time. */
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
