package io.waybill.replay.run;

import io.waybill.host.Host;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ReplayedCall.Result;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.agrona.CloseHelper;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.OneToOneConcurrentArrayQueue;

/**
 * The replay of what one worker handled. Reads calls, has a thread of its own run their handlers, and gives what became of them to a sink.
 * A handler that does not return holds up its own call only: another thread takes over behind it.
 *
 * <p>For one use, by one thread, which reads, watches the handlers, and calls the sink.
 */
public final class WorkerReplay {

    private static final int MAX_CALLS_IN_FLIGHT = 1 << 12;
    private static final long MAX_BYTES_IN_FLIGHT = 16 << 20;
    /** Time between two looks at a handler counts up to here: a process that was stopped holds nothing against its handlers. */
    private static final long MAX_BETWEEN_LOOKS_NS = 500_000_000;

    private static final long NO_TURN = 0;
    private static final long CLOSE_MS = 5_000;

    private static final int MAX_SPINS = 20;
    private static final int MAX_YIELDS = 0;
    private static final long MIN_PARK_NS = 20_000;
    /** Shorter than the calls in flight take. */
    private static final long MAX_PARK_NS = 500_000;

    private final Host host;
    private final RecordingAccess records;
    private final RunSettings settings;
    private final CallSink sink;
    private final CallClassifier classifier;
    private final OneToOneConcurrentArrayQueue<CallToReplay> waiting =
            new OneToOneConcurrentArrayQueue<>(MAX_CALLS_IN_FLIGHT);
    private final OneToOneConcurrentArrayQueue<ReplayedCall> done =
            new OneToOneConcurrentArrayQueue<>(MAX_CALLS_IN_FLIGHT);
    private final IdleStrategy idle = newIdleStrategy();
    private List<ReplayCandidate> candidates;
    private HandlerThread handlers;
    private Thread thread; // of the handlers
    private RecordedCall repeated; // read last
    private int repetitions; // of it that are left
    private long watchedTurn = NO_TURN;
    private long heldNs; // how long it has been this turn
    private long lookedNs;

    /** Opens the candidates once it is known that something is to be replayed. */
    @FunctionalInterface
    public interface Opening {
        List<ReplayCandidate> open() throws IOException;
    }

    public WorkerReplay(Host host, RecordingAccess records, RunSettings settings, CallSink sink) {
        this.host = host;
        this.records = records;
        this.settings = settings;
        this.sink = sink;
        this.classifier = new CallClassifier(records.withheld());
    }

    /** How both threads wait for each other: rarely, as many calls are in flight, so that they take no processor from each other. */
    static IdleStrategy newIdleStrategy() {
        return new BackoffIdleStrategy(MAX_SPINS, MAX_YIELDS, MIN_PARK_NS, MAX_PARK_NS);
    }

    /** Requests that were left out. */
    public long left() {
        return classifier.left();
    }

    /** Runs all calls, each so many times, and closes what it was given. */
    public void run(CallRecording.Handled handled, int times, Opening opening) throws IOException {
        try (handled) {
            CallToReplay first = read(handled, times);
            if (first != null) {
                candidates = opening.open();
                try {
                    start(null);
                    run(handled, times, first);
                } finally {
                    stop();
                    CloseHelper.closeAll(candidates);
                }
            }
        }
    }

    private void run(CallRecording.Handled handled, int times, CallToReplay first) throws IOException {
        CallToReplay next = first;
        int inFlight = 0;
        long bytes = 0;
        while (next != null || inFlight > 0) {
            ReplayedCall finished = done.poll();
            if (finished != null) {
                inFlight--;
                bytes -= finished.call().bytes();
                give(finished);
                idle.reset();
            } else if (next != null && inFlight < MAX_CALLS_IN_FLIGHT && bytes < MAX_BYTES_IN_FLIGHT) {
                waiting.add(next);
                inFlight++;
                bytes += next.call().bytes();
                next = read(handled, times);
            } else {
                watch();
                idle.idle();
            }
        }
    }

    /** The next call that handlers respond to; null after the last. */
    private CallToReplay read(CallRecording.Handled handled, int times) throws IOException {
        Optional<CallToReplay> found = Optional.empty();
        while (found.isEmpty()) {
            if (repetitions == 0) {
                repeated = handled.next();
                repetitions = times;
            }
            if (repeated == null) {
                return null;
            }
            repetitions--;
            found = classifier.classify(repeated);
        }
        return found.get();
    }

    private void give(ReplayedCall call) throws IOException {
        try {
            sink.accept(call);
        } finally {
            call.recorded().ifPresent(ComparedResponse::release);
            for (Result result : call.results()) {
                result.replayed().ifPresent(ComparedResponse::release);
            }
        }
    }

    /** @param begun a call of which another thread ran some candidates; null for none */
    private void start(CallToReplay begun) {
        handlers = new HandlerThread(records, candidates, settings, waiting, done, begun);
        thread = host.threads().start("waybill-replay-" + records.worker().name(), handlers);
    }

    private void watch() throws IOException {
        handlers.requireRunning();
        if (Thread.currentThread().isInterrupted()) {
            throw new IOException("interrupted while it replayed");
        }
        long turn = handlers.supervision().turn();
        boolean inHandler = HandlerSupervision.isInHandler(turn);
        long nowNs = host.clock().monotonicNs();
        boolean isSame = inHandler && turn == watchedTurn;
        heldNs = isSame ? heldNs + Math.min(nowNs - lookedNs, MAX_BETWEEN_LOOKS_NS) : 0;
        lookedNs = nowNs;
        watchedTurn = inHandler ? turn : NO_TURN;
        boolean isOver =
                !settings.limit().isZero() && heldNs >= settings.limit().toNanos();
        if (isSame && isOver && handlers.supervision().giveUp(turn)) {
            replaceThread();
        }
    }

    /** The handler that runs keeps its thread. */
    private void replaceThread() {
        thread.interrupt();
        CallToReplay begun = handlers.current();
        String reason = "its handler did not return within " + settings.limit().toMillis() + " ms";
        begun.results()
                .add(new Result(
                        candidates.get(begun.results().size()).name(), Verdict.FAILED, reason, Optional.empty()));
        watchedTurn = NO_TURN;
        start(begun);
    }

    /** Gives the handlers' thread some time to leave what it is doing. */
    private void stop() {
        if (thread == null) {
            return;
        }
        handlers.stop();
        thread.interrupt();
        try {
            thread.join(CLOSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
