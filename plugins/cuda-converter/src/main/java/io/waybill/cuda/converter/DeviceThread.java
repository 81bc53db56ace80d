package io.waybill.cuda.converter;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Thread of one device for what waits for the device and concerns no call: ends of copies, and memory to be freed. Runs tasks in order, and exists from
 * the first one on.
 */
final class DeviceThread {

    private static final long LIMIT_S = 30;

    private final ScheduledThreadPoolExecutor executor;

    DeviceThread(String name) {
        executor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Runs a task later; at once, on this thread, after {@link #close}. */
    void run(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) { // closed
            task.run();
        }
    }

    /** Runs a task after a time, while other tasks go on; at once, on this thread, after {@link #close}. */
    void run(Runnable task, long delayMs) {
        try {
            executor.schedule(task, delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) { // closed
            task.run();
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
