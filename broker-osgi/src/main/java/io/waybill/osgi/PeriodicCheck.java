package io.waybill.osgi;

import io.waybill.host.Threads;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thread that looks at something again and again until it is ended. */
final class PeriodicCheck {

    private static final Logger LOG = LoggerFactory.getLogger(PeriodicCheck.class);

    private final Threads threads;
    private final Duration interval;
    private final Runnable look;
    private final Thread thread;
    private volatile boolean ended; // set by who ends it, read by the thread

    PeriodicCheck(Threads threads, String name, Duration interval, Runnable look) {
        this.threads = threads;
        this.interval = interval;
        this.look = look;
        this.thread = threads.start(name, this::run);
    }

    private void run() {
        while (!ended) {
            threads.pause(interval.toNanos());
            if (!ended) {
                lookSafely();
            }
        }
    }

    /** The thread's boundary: one look that fails is not the last. */
    private void lookSafely() {
        try {
            look.run();
        } catch (RuntimeException | Error e) {
            LOG.error("{} failed and goes on", Thread.currentThread().getName(), e);
        }
    }

    /** Returns when the thread looks no more. */
    void end() {
        ended = true;
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
