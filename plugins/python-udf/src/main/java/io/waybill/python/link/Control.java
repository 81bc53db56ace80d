package io.waybill.python.link;

import java.time.Duration;
import java.util.List;

/** Operations that a process may request of its worker, in addition to its broker. */
@FunctionalInterface
public interface Control {

    /**
     * Shuts several workers down together.
     *
     * @return description of the unfinished work at the limit; empty if all is finished
     * @throws IllegalStateException if this process has no worker of its own
     */
    String shutdown(Duration limit, List<String> others);

    /**
     * Runs a task that sends messages for the process. If the process has a worker of its own, the calling thread then
     * polls for other processes' sleeping workers that received one.
     */
    default void sendAndPoll(Runnable sends) {
        sends.run();
    }
}
