package io.waybill.cli.node;

import io.waybill.host.Threads;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what a node tells the others that it serves true to what it does serve.
 *
 * <p><b>Threads.</b> {@link #changed} by any, and at once back; one thread of its own writes.
 */
final class ServedRecord implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ServedRecord.class);
    private static final int MAX_SHOWN = 1000;
    private static final long GATHER_NS = 20_000_000; // several handlers of a bundle come at once

    private static final long RETRY_MS = 1_000;

    private final Worker worker;
    private final Threads threads;
    private final Map<String, String> shown;
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread;
    private boolean failed; // of the thread: the last attempt did
    private volatile boolean closed; // set by who closes, read by the thread

    ServedRecord(Worker worker, Threads threads, Map<String, String> shown) {
        this.worker = worker;
        this.threads = threads;
        this.shown = shown;
        this.thread = threads.start("waybill-served", this::run);
    }

    /** The handlers changed. */
    void changed() {
        changes.release();
    }

    /** Tells the others now. */
    void publish() throws IOException {
        Map<String, String> now = new HashMap<>(shown);
        List<String> stuck = worker.stuck();
        if (!stuck.isEmpty()) {
            now.put(Node.STUCK, shown(stuck));
        }
        worker.ready(now);
    }

    /** As many as fit into a field of the record. */
    private static String shown(List<String> keys) {
        StringBuilder text = new StringBuilder(keys.get(0));
        for (int i = 1; i < keys.size(); i++) {
            if (text.length() + keys.get(i).length() > MAX_SHOWN) {
                return text.append(" and ")
                        .append(keys.size() - i)
                        .append(" more")
                        .toString();
            }
            text.append(' ').append(keys.get(i));
        }
        return text.toString();
    }

    private void run() {
        try {
            while (!closed) {
                awaitChange();
                threads.pause(GATHER_NS);
                changes.drainPermits();
                if (!closed) {
                    publishSafely();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitChange() throws InterruptedException {
        if (!failed) {
            changes.acquire();
        } else if (changes.tryAcquire(RETRY_MS, TimeUnit.MILLISECONDS)) {
            LOG.debug("What this node serves changed before it could be told");
        }
    }

    /** What a full disk does not take is tried again, until it does. */
    private void publishSafely() {
        try {
            publish();
            if (failed) {
                failed = false;
                LOG.info("The others are told again what this node serves");
            }
        } catch (IOException | RuntimeException | Error e) {
            if (!failed && !closed) {
                failed = true;
                LOG.error(
                        "The others can't be told what this node serves, which is tried again: {}", e.getMessage(), e);
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        changes.release();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
