package io.waybill.replay.run;

import io.waybill.handling.Route;
import io.waybill.host.Host;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ReplayedCall.Result;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.run.CallBatch.CallToReplay;
import io.waybill.replay.state.CallSchedule;
import io.waybill.replay.state.ScheduledCall;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;

/**
 * Replay of the calls that one worker handled. Reads calls, runs their handlers on a separate thread, and passes the
 * results to a sink. A handler that does not return delays only its own call: another thread continues with the next
 * one.
 *
 * <p>For one use, by one thread, which reads, monitors the handlers, and calls the sink.
 */
public final class WorkerReplay {

    private static final int MAX_BATCHES_IN_FLIGHT = 16;
    private static final int MAX_BATCH_CALLS = 256;
    private static final long MAX_BATCH_BYTES = 1 << 20;
    private static final long LOOK_MS = 100;
    /**
     * Max time that counts between two checks of a handler, so that a pause of the process is not attributed to its
     * handlers.
     */
    private static final long MAX_BETWEEN_LOOKS_NS = 500_000_000;

    private static final long NO_TURN = 0;
    private static final long CLOSE_MS = 5_000;

    private final Host host;
    private final RecordingAccess records;
    private final RunSettings settings;
    private final CallSink sink;
    private final CallClassifier classifier;
    private final BlockingQueue<CallBatch> waiting = new ArrayBlockingQueue<>(MAX_BATCHES_IN_FLIGHT);
    private final BlockingQueue<CallBatch> done = new ArrayBlockingQueue<>(MAX_BATCHES_IN_FLIGHT);
    private final int batchCalls;
    private List<ReplayCandidate> candidates;
    private HandlerThread handlers;
    private Thread thread; // runs the handlers
    private final MessageBuffer buffer = new MessageBuffer();
    private long leftElsewhere;
    private long brought;
    private ScheduledCall repeated; // the last one read
    private int repetitions; // remaining repetitions
    private long watchedTurn = NO_TURN;
    private long heldNs; // duration of the current turn
    private long lookedNs;

    /** Opens the candidates when the first call must be replayed. */
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
        // results that are displayed one by one must not wait for others
        this.batchCalls = settings.pace() == ReplayPace.FASTEST ? MAX_BATCH_CALLS : 1;
    }

    /** Returns the number of requests that were left out. */
    public long left() {
        return classifier.left() + leftElsewhere;
    }

    /** Returns the number of calls that ran only for their state. */
    public long brought() {
        return brought;
    }

    /** Runs all calls, each selected one the given number of times, and closes its arguments. */
    public void run(CallSchedule schedule, int times, Opening opening) throws IOException {
        try (schedule) {
            CallBatch first = readBatch(schedule, times);
            if (!first.calls().isEmpty()) {
                candidates = opening.open();
                try {
                    start(null);
                    run(schedule, times, first);
                } finally {
                    stop();
                    CloseHelper.closeAll(candidates);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while it replayed", e);
        }
    }

    private void run(CallSchedule schedule, int times, CallBatch first) throws IOException, InterruptedException {
        CallBatch next = first;
        int inFlight = 0;
        while (!next.calls().isEmpty() || inFlight > 0) {
            boolean hasRoom = !next.calls().isEmpty() && inFlight < MAX_BATCHES_IN_FLIGHT;
            CallBatch finished = hasRoom ? done.poll() : done.poll(LOOK_MS, TimeUnit.MILLISECONDS);
            if (finished != null) {
                inFlight--;
                for (int i = 0; i < finished.calls().size(); i++) {
                    give(
                            finished.calls().get(i).scheduled(),
                            finished.replayed().get(i));
                }
            } else if (hasRoom) {
                waiting.add(next);
                inFlight++;
                next = readBatch(schedule, times);
            } else {
                watch();
            }
        }
    }

    /** Reads the next calls; none after the last. */
    private CallBatch readBatch(CallSchedule schedule, int times) throws IOException {
        List<CallToReplay> calls = new ArrayList<>(batchCalls);
        long bytes = 0;
        while (calls.size() < batchCalls && bytes < MAX_BATCH_BYTES) {
            CallToReplay call = read(schedule, times);
            if (call == null) {
                break;
            }
            calls.add(call);
            bytes += call.call().bytes();
        }
        return new CallBatch(calls);
    }

    /** Reads the next call that handlers respond to; null after the last. */
    private CallToReplay read(CallSchedule schedule, int times) throws IOException {
        Optional<CallToReplay> found = Optional.empty();
        while (found.isEmpty()) {
            if (repetitions == 0) {
                repeated = schedule.next();
                repetitions = repeated == null || repeated.isSelected() ? times : 1;
            }
            if (repeated == null) {
                return null;
            }
            repetitions--;
            found = classifier.classify(repeated);
            repeated = repeated.again();
        }
        return found.get();
    }

    private void give(ScheduledCall scheduled, ReplayedCall call) throws IOException {
        try {
            if (isElsewhere(call)) {
                leftElsewhere += scheduled.isSelected() ? 1 : 0;
            } else if (scheduled.isSelected()) {
                sink.accept(call);
            } else {
                brought++;
            }
        } finally {
            call.recorded().ifPresent(ComparedResponse::release);
            for (Result result : call.results()) {
                result.replayed().ifPresent(ComparedResponse::release);
            }
        }
    }

    private boolean isElsewhere(ReplayedCall call) {
        if (call.results().get(0).verdict() != Verdict.FAILED) {
            return false;
        }
        RecordView request = call.call().request().in(buffer);
        return Route.find(settings.elsewhere(), request) != null
                && candidates.stream().allMatch(candidate -> Route.find(candidate.table(), request) == null);
    }

    /**
     * Starts a thread.
     *
     * @param begun calls, of which another thread ran the first ones; null for none
     */
    private void start(CallBatch begun) {
        handlers = new HandlerThread(
                new RequestRunner.Surroundings(records, new ReplayStack(), settings, host),
                candidates,
                waiting,
                done,
                begun);
        thread = host.threads().start("waybill-replay-" + records.worker().name(), handlers);
    }

    private void watch() throws IOException {
        handlers.requireRunning();
        long turn = handlers.stack().turn();
        boolean inHandler = ReplayStack.isInHandler(turn);
        long nowNs = host.clock().monotonicNs();
        boolean isSame = inHandler && turn == watchedTurn;
        heldNs = isSame ? heldNs + Math.min(nowNs - lookedNs, MAX_BETWEEN_LOOKS_NS) : 0;
        lookedNs = nowNs;
        watchedTurn = inHandler ? turn : NO_TURN;
        boolean isOver =
                !settings.limit().isZero() && heldNs >= settings.limit().toNanos();
        if (isSame && isOver && handlers.stack().giveUp(turn)) {
            replaceThread();
        }
    }

    /** Replaces the handlers' thread, which stays with the running handler. */
    private void replaceThread() {
        thread.interrupt();
        CallBatch begun = handlers.batch();
        List<Result> results = begun.current().results();
        candidates
                .get(results.size())
                .losesState(begun.current().call().request().in(buffer));
        String reason = "its handler did not return within " + settings.limit().toMillis() + " ms";
        results.add(new Result(candidates.get(results.size()).name(), Verdict.FAILED, reason, Optional.empty()));
        watchedTurn = NO_TURN;
        start(begun);
    }

    /** Gives the handlers' thread a limited time to stop. */
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
