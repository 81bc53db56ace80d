package io.waybill.worker.upkeep;

import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.journal.append.Journal;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.worker.metrics.WorkerCounters;
import org.agrona.concurrent.Agent;

/**
 * Updates the index by id from the journal. While calls are sent or served it uses 2% of its thread's time and falls
 * behind; without calls it catches up.
 *
 * <p>A worker with few records has no index: a lookup reads them in a few milliseconds, and opening the index takes the
 * library, its memory and two threads. The first step follows 3 s after the start. A worker that was busy completes the
 * index when it leaves, for up to a million records, which take about a second: otherwise each later lookup reads the
 * whole journal.
 *
 * <p><b>Threads.</b> One of its own.
 */
public final class Indexer implements Agent, AutoCloseable {

    private static final long FIRST_STEP_NS = 3_000_000_000L;
    private static final long IDLE_PAUSE_NS = 500_000_000L;
    /** Pause while few calls are made, or none. */
    private static final long RESTING_PAUSE_NS = 5_000_000_000L;

    private static final long MAX_PAUSE_NS = 1_000_000_000L;
    private static final int RECORDS_PER_STEP = 1_000;
    private static final int MAX_LAST_STEPS = 1_000;
    /**
     * Min number of records of an indexed journal: a lookup reads fewer records without an index in a few milliseconds.
     */
    private static final long MIN_RECORDS = 20_000;

    private static final int SHARE_WHEN_BUSY = 50;

    private final IndexBuilder builder;
    private final long recordsBefore;
    private final WorkerCounters counters;
    private final Clock clock;
    private final WakeableIdleStrategy idle;
    private boolean started;
    private boolean needed;
    private long callsSeen;
    private volatile AgentThread thread; // null before it starts

    public Indexer(IndexBuilder builder, Journal requests, Journal responses, WorkerCounters counters, Host host) {
        this.builder = builder;
        this.recordsBefore = requests.size() + responses.size();
        this.counters = counters;
        this.clock = host.clock();
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
    }

    public void start(String workerName, Threads threads) {
        thread = new AgentThread(workerName + "-indexer", this, idle);
        thread.start(threads);
    }

    @Override
    public String roleName() {
        return "indexer";
    }

    @Override
    public int doWork() {
        if (!started) {
            started = true;
            idle.rest(FIRST_STEP_NS);
            return 0;
        }
        if (!isNeeded()) {
            idle.rest(RESTING_PAUSE_NS);
            return 0;
        }
        long startNs = clock.monotonicNs();
        IndexBuilder.Progress progress = builder.step(RECORDS_PER_STEP);
        long tookNs = clock.monotonicNs() - startNs;
        long calls = calls();
        boolean busy = calls != callsSeen;
        callsSeen = calls;
        if (progress == IndexBuilder.Progress.BEHIND) {
            idle.rest(Math.min(MAX_PAUSE_NS, busy ? SHARE_WHEN_BUSY * tookNs : tookNs));
        } else {
            idle.rest(busy ? IDLE_PAUSE_NS : RESTING_PAUSE_NS);
        }
        return 0;
    }

    private boolean isNeeded() {
        if (!needed) {
            needed = builder.exists() || recordsBefore + calls() >= MIN_RECORDS;
        }
        return needed;
    }

    private long calls() {
        return counters.callsSent() + counters.requestsBegun();
    }

    @Override
    public void onClose() {
        try {
            if (calls() >= MIN_RECORDS) {
                indexWhatIsLeft();
            }
        } finally {
            builder.close();
        }
    }

    private void indexWhatIsLeft() {
        IndexBuilder.Progress progress = IndexBuilder.Progress.BEHIND;
        for (int step = 0; step < MAX_LAST_STEPS && progress == IndexBuilder.Progress.BEHIND; step++) {
            progress = builder.step(RECORDS_PER_STEP);
        }
    }

    /** Ends the thread, and waits until it has closed the index. */
    @Override
    public void close() {
        if (thread == null) {
            builder.close();
        } else {
            thread.close();
        }
    }
}
