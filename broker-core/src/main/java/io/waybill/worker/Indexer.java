package io.waybill.worker;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.journal.index.IndexBuilder;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps the index by id up behind the journal. While calls go on it takes a fiftieth of its thread's time and falls behind; when they rest
 * it catches up.
 *
 * <p>Runs on a thread of its own, which begins late: a worker that is gone again soon does not pay for an index. One that was busy indexes
 * what is left as it leaves, up to a million records, which take about a second: else everybody who looks something up later reads the
 * whole journal, again and again.
 */
final class Indexer implements AutoCloseable {

    private static final long FIRST_STEP_NS = 3_000_000_000L;
    private static final long IDLE_PAUSE_NS = 500_000_000L;
    private static final long LONGEST_PAUSE_NS = 1_000_000_000L;
    private static final int RECORDS_PER_STEP = 1_000;
    private static final int MAX_LAST_STEPS = 1_000;
    /** Below that a lookup reads what is not indexed in a few milliseconds. */
    private static final long WORTH_LAST_STEPS = 20_000;

    private static final int SHARE_WHEN_BUSY = 50;

    private final IndexBuilder builder;
    private final WorkerCounters counters;
    private final Clock clock;
    private volatile boolean closed;
    private volatile Thread thread;

    Indexer(IndexBuilder builder, WorkerCounters counters, Clock clock) {
        this.builder = builder;
        this.counters = counters;
        this.clock = clock;
    }

    void start(String workerName, Threads threads) {
        thread = threads.start(workerName + "-indexer", this::run);
    }

    private void run() {
        try {
            pause(FIRST_STEP_NS);
            long seen = 0;
            while (!closed) {
                long startNs = clock.monotonicNs();
                IndexBuilder.Progress progress = builder.step(RECORDS_PER_STEP);
                long tookNs = clock.monotonicNs() - startNs;
                long now = counters.callsSent() + counters.requestsBegun();
                boolean busy = now != seen;
                seen = now;
                if (progress != IndexBuilder.Progress.BEHIND) {
                    pause(IDLE_PAUSE_NS);
                } else {
                    pause(Math.min(LONGEST_PAUSE_NS, busy ? SHARE_WHEN_BUSY * tookNs : tookNs));
                }
            }
            indexWhatIsLeft();
        } finally {
            builder.close();
        }
    }

    private void indexWhatIsLeft() {
        if (counters.callsSent() + counters.requestsBegun() < WORTH_LAST_STEPS) {
            return;
        }
        IndexBuilder.Progress progress = IndexBuilder.Progress.BEHIND;
        for (int step = 0; step < MAX_LAST_STEPS && progress == IndexBuilder.Progress.BEHIND; step++) {
            progress = builder.step(RECORDS_PER_STEP);
        }
    }

    private void pause(long ns) {
        long untilNs = clock.monotonicNs() + ns;
        for (long left = ns; left > 0 && !closed; left = untilNs - clock.monotonicNs()) {
            LockSupport.parkNanos(this, left);
        }
    }

    /** Ends the thread, and waits until it has closed the index. */
    @Override
    public void close() {
        closed = true;
        if (thread == null) { // it did not start
            builder.close();
            return;
        }
        LockSupport.unpark(thread);
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
