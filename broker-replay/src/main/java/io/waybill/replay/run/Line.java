package io.waybill.replay.run;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.replay.ReplayedCall;
import io.waybill.replay.Verdict;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The calls of one worker on their way: read by one thread, run by another, taken by a third, which sees to it that a handler that does not
 * come back holds up nothing but its own call.
 *
 * <p><b>Threads.</b> {@link #next} and {@link #close} belong to the third, the rest to the second.
 */
final class Line implements AutoCloseable {

    private static final int MOST_DONE = 4;
    private static final long LOOK_NS = 100_000_000;
    /** What passes between two looks counts up to here: a process that was stopped holds nothing against its handlers. */
    private static final long MOST_BETWEEN_LOOKS_NS = 5 * LOOK_NS;

    private static final long NO_TURN = 0;
    private static final long END_MS = 5_000;

    private final Host host;
    private final ReadAhead ahead;
    private final Records records;
    private final List<Contender> contenders;
    private final RunSettings settings;
    private final BlockingQueue<Batch> done = new ArrayBlockingQueue<>(MOST_DONE);
    private volatile Throwable failure; // set by the hand before it gives its last batch, read after that
    private Hand hand;
    private Thread handThread;
    private long seenTurn = NO_TURN;
    private long heldNs; // for so long it has been this turn
    private long lookedNs;

    Line(Host host, ReadAhead ahead, Records records, List<Contender> contenders, RunSettings settings) {
        this.host = host;
        this.ahead = ahead;
        this.records = records;
        this.contenders = contenders;
        this.settings = settings;
    }

    /** Begins with what was read already. */
    void start(Batch first) {
        start(new Hand(this, first));
    }

    private void start(Hand next) {
        hand = next;
        handThread = host.threads().start("waybill-replay-" + worker().name(), next);
    }

    /** The next calls, of which the last time there are none. */
    Batch next() throws IOException, InterruptedException {
        Batch batch = done.poll(LOOK_NS, TimeUnit.NANOSECONDS);
        while (batch == null) {
            watch();
            batch = done.poll(LOOK_NS, TimeUnit.NANOSECONDS);
        }
        Throwable why = failure;
        if (why instanceof IOException io) {
            throw io;
        }
        if (why != null) {
            throw new IllegalStateException("a replay ended early: " + why.getMessage(), why);
        }
        return batch;
    }

    private void watch() {
        long turn = hand.supervision().turn();
        boolean inHandler = (turn & 1) != 0 && turn > 0;
        long nowNs = host.clock().monotonicNs();
        boolean isSame = inHandler && turn == seenTurn;
        heldNs = isSame ? heldNs + Math.min(nowNs - lookedNs, MOST_BETWEEN_LOOKS_NS) : 0;
        lookedNs = nowNs;
        seenTurn = inHandler ? turn : NO_TURN;
        boolean isTooLong =
                !settings.limit().isZero() && heldNs >= settings.limit().toNanos();
        if (isSame && isTooLong && hand.supervision().giveUp(turn)) {
            goOnWithout();
        }
    }

    /** The handler of the call in hand keeps its thread. */
    private void goOnWithout() {
        handThread.interrupt();
        Batch begun = hand.batch();
        Contender held = contenders.get(begun.current().size());
        begun.current()
                .add(new ReplayedCall.Result(
                        held.name(),
                        Verdict.FAILED,
                        "its handler did not return within " + settings.limit().toMillis() + " ms",
                        Optional.empty()));
        seenTurn = NO_TURN;
        start(new Hand(this, begun));
    }

    /** Gives the hand some time to leave what it is doing, when it has not ended by itself. */
    @Override
    public void close() {
        handThread.interrupt();
        try {
            handThread.join(END_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    WorkerInfo worker() {
        return records.worker();
    }

    Records records() {
        return records;
    }

    List<Contender> contenders() {
        return contenders;
    }

    RunSettings settings() {
        return settings;
    }

    Batch take() throws InterruptedException, IOException {
        return ahead.take();
    }

    void give(Batch batch) throws InterruptedException {
        done.put(batch);
    }

    /** Nothing more comes. */
    void failed(Throwable why) {
        failure = why;
        try {
            done.put(new Batch(List.of()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
