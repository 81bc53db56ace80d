package io.waybill.cli.supervise;

import java.time.Duration;

/** Waits between a node's deaths and its restarts. One thread. */
final class BackOff {

    private final RestartSettings settings;
    private Duration next;

    BackOff(RestartSettings settings) {
        this.settings = settings;
        this.next = settings.first();
    }

    /** Returns the wait before the restart of a process that ran for this time. */
    Duration after(Duration ran) {
        if (ran.compareTo(settings.steadyAfter()) >= 0) {
            next = settings.first();
        }
        Duration wait = next;
        Duration twice = wait.multipliedBy(2);
        next = twice.compareTo(settings.max()) > 0 ? settings.max() : twice;
        return wait;
    }
}
