package io.waybill.python.link;

import java.time.Duration;
import java.util.List;

/** What a process may ask of the worker that was joined in its name, beyond its broker. */
@FunctionalInterface
public interface Control {

    /**
     * Ends the work of several workers together.
     *
     * @return what had not ended at the limit; empty when all has
     * @throws IllegalStateException when this process has no worker of its own
     */
    String shutdown(Duration limit, List<String> others);

    /** Runs what sends messages for the process. Where it has a worker of its own, the calling thread then polls for the other processes' workers that got one and sleep. */
    default void sendAndPoll(Runnable sends) {
        sends.run();
    }
}
