package io.waybill.dispatch;

import java.time.Duration;

/**
 * Thread limits of one provider's handlers.
 *
 * @param eagerThreads threads that are started without waiting for running ones to become free
 * @param maxTasks max requests at once, running and waiting together; also the max number of threads
 * @param growDelayNs time that a request waits, with all threads busy, before another thread is started
 * @param spinNs time that a thread without work polls for more before it sleeps
 * @param keepAlive time that an idle thread stays
 */
public record ExecutorSettings(int eagerThreads, int maxTasks, long growDelayNs, long spinNs, Duration keepAlive) {

    public static final int MAX_TASKS_DEFAULT = 4096;
    public static final long GROW_DELAY_NS_DEFAULT = 200_000;
    public static final Duration KEEP_ALIVE_DEFAULT = Duration.ofSeconds(10);

    public ExecutorSettings {
        if (eagerThreads < 1 || maxTasks < eagerThreads) {
            throw new IllegalArgumentException("an executor needs 1 or more eager threads, and tasks for them: "
                    + eagerThreads + " threads, " + maxTasks + " tasks");
        }
        if (growDelayNs < 0 || spinNs < 0 || keepAlive.isNegative()) {
            throw new IllegalArgumentException("an executor's times must be 0 or more: grow delay " + growDelayNs
                    + " ns, spin " + spinNs + " ns, keep alive " + keepAlive);
        }
    }

    /**
     * Returns the settings for a number of processors. With few of them spinning would take time from working threads,
     * so there is none.
     */
    public static ExecutorSettings forProcessors(int processors) {
        return new ExecutorSettings(
                Math.max(2, processors),
                MAX_TASKS_DEFAULT,
                GROW_DELAY_NS_DEFAULT,
                processors < 4 ? 0 : 5_000,
                KEEP_ALIVE_DEFAULT);
    }
}
