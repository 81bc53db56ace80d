package io.waybill.dispatch;

import java.time.Duration;

/**
 * How many threads one provider's handlers get.
 *
 * @param eagerThreads so many are started without waiting whether those that run come free
 * @param maxTasks most requests at once, running and waiting together; as many threads at most
 * @param growDelayNs how long a request waits, with all threads busy, before it gets a thread more
 * @param spinNs how long a thread that ran out of work looks for more before it sleeps
 * @param keepAlive how long an idle thread stays
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

    /** For a host with so many processors. With few of them spinning would take time from who has work, so there is none. */
    public static ExecutorSettings forProcessors(int processors) {
        return new ExecutorSettings(
                Math.max(2, processors),
                MAX_TASKS_DEFAULT,
                GROW_DELAY_NS_DEFAULT,
                processors < 4 ? 0 : 5_000,
                KEEP_ALIVE_DEFAULT);
    }
}
