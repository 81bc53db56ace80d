package io.waybill.replay.run;

import io.waybill.api.RejectedMessageException;
import io.waybill.host.Clock;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ReplayedCall.Result;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.run.CallBatch.CallToReplay;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;

/**
 * Runs calls through the handlers of all candidates, one after the other, and compares.
 *
 * <p><b>Threads.</b> Runs on its own thread. Another thread may call {@link #stack}, {@link #requireRunning} and
 * {@link #stop}, and {@link #batch} after it abandoned this one.
 */
final class HandlerThread implements Runnable {

    private static final String UNREADABLE = "the tensors of its response can't be read from their device: ";
    private static final ResponseComparison EXACT = ContentComparison.exact();

    private final Clock clock;
    private final RecordingAccess records;
    private final List<ReplayCandidate> candidates;
    private final RunSettings settings;
    private final BlockingQueue<CallBatch> waiting;
    private final BlockingQueue<CallBatch> done;
    private final ReplayStack stack;
    private final List<RequestRunner> runners = new ArrayList<>();
    private final MessageBuffer buffer = new MessageBuffer();
    private CallBatch batch; // null while it waits for a batch
    private volatile boolean stopped;
    private volatile Throwable failure;

    /** @param begun calls, of which another thread ran the first ones; null for none */
    HandlerThread(
            RequestRunner.Surroundings surroundings,
            List<ReplayCandidate> candidates,
            BlockingQueue<CallBatch> waiting,
            BlockingQueue<CallBatch> done,
            CallBatch begun) {
        this.clock = surroundings.host().clock();
        this.records = surroundings.records();
        this.candidates = candidates;
        this.settings = surroundings.settings();
        this.stack = surroundings.stack();
        this.waiting = waiting;
        this.done = done;
        this.batch = begun;
        for (ReplayCandidate candidate : candidates) {
            RequestRunner runner = new RequestRunner(candidate, surroundings);
            candidate.runs(runner);
            runners.add(runner);
        }
    }

    ReplayStack stack() {
        return stack;
    }

    /** Returns the current calls. */
    CallBatch batch() {
        return batch;
    }

    /** Requests the thread to stop after the current call. */
    void stop() {
        stopped = true;
    }

    /**
     * Throws if the thread failed.
     *
     * @throws IOException if it ended early because a recording can't be read
     */
    void requireRunning() throws IOException {
        Throwable why = failure;
        if (why instanceof IOException io) {
            throw io;
        }
        if (why != null) {
            throw new IllegalStateException("a replay ended early: " + why.getMessage(), why);
        }
    }

    @Override
    public void run() {
        stack.begin();
        try {
            while (!stopped) {
                batch = batch == null ? waiting.take() : batch;
                while (!batch.isDone()) {
                    batch.replayed().add(run(batch.current()));
                }
                done.add(batch);
                batch = null;
            }
        } catch (ReplayStack.GivenUpError e) {
            return; // another thread continues
        } catch (InterruptedException | IOException | RuntimeException | Error e) {
            failure = e;
        }
    }

    private ReplayedCall run(CallToReplay read) throws InterruptedException, IOException {
        RecordedCall call = read.call();
        if (read.results().isEmpty() && read.scheduled().isSelected()) {
            settings.pace().await(call);
        }
        Optional<ComparedResponse> recorded = read.recorded();
        String unfit = read.unfit();
        if (unfit.isEmpty() && recorded.isEmpty()) {
            try {
                recorded = Optional.of(ComparedResponse.of(
                        call.response().orElseThrow().in(buffer),
                        records.tensors(call.response().get())));
            } catch (NotRecordedException e) {
                unfit = "the response on record is not whole: " + e.getMessage();
            }
        }
        for (int i = read.results().size(); i < runners.size(); i++) {
            Result result = judge(read, recorded, unfit, i);
            if (leavesAnotherState(result, call) && keptState(read, i).isPresent()) {
                candidates.get(i).losesState(call.request().in(buffer));
            }
            read.results().add(result);
        }
        return new ReplayedCall(call, records.worker(), read.operation(), recorded, List.copyOf(read.results()));
    }

    /**
     * Returns whether a handler ran on record, but could not run the same way here. A different behaviour of the
     * handler itself does not count, nor do its consequences.
     */
    private boolean leavesAnotherState(Result result, RecordedCall call) {
        return result.verdict() == Verdict.NOT_REPLAYABLE
                && (call.response().isEmpty() || call.response().get().handlerSequence() > 0);
    }

    private Result judge(CallToReplay read, Optional<ComparedResponse> recorded, String unfit, int candidate) {
        String name = candidates.get(candidate).name();
        if (!unfit.isEmpty()) {
            return new Result(name, Verdict.NOT_REPLAYABLE, unfit, Optional.empty());
        }
        long beganNs = clock.bootNs();
        RunOutcome outcome = runners.get(candidate).run(read.call());
        long tookNs = clock.bootNs() - beganNs;
        return judge(read, recorded, outcome, candidate).ran(clock.wallNsAt(beganNs), tookNs);
    }

    private Result judge(CallToReplay read, Optional<ComparedResponse> recorded, RunOutcome outcome, int candidate) {
        String name = candidates.get(candidate).name();
        if (outcome instanceof RunOutcome.Stopped stop) {
            if (!read.doubt().isEmpty() && stop.verdict() == Verdict.FAILED) {
                return new Result(name, Verdict.NOT_REPLAYABLE, read.doubt() + "; " + stop.reason(), Optional.empty());
            }
            Optional<String> unknown = stop.mayComeOfState() ? unknownState(read, candidate) : Optional.empty();
            return unknown.isPresent()
                    ? new Result(name, Verdict.NOT_REPLAYABLE, unknown.get() + stop.reason(), Optional.empty())
                    : new Result(name, stop.verdict(), stop.reason(), Optional.empty());
        }
        RunOutcome.Responded responded = (RunOutcome.Responded) outcome;
        ComparedResponse replayed;
        try {
            replayed = runners.get(candidate).onHost(responded.response());
        } catch (RejectedMessageException e) {
            responded.response().release();
            return new Result(name, Verdict.NOT_REPLAYABLE, UNREADABLE + e.getMessage(), Optional.empty());
        }
        Optional<String> difference = settings.comparison().firstDifference(recorded.get(), replayed);
        if (difference.isEmpty()) {
            return new Result(name, Verdict.SAME, responded.unrecorded(), Optional.of(replayed));
        }
        if (!responded.unrecorded().isEmpty()) { // possible cause of the difference
            return new Result(
                    name,
                    Verdict.NOT_REPLAYABLE,
                    responded.unrecorded() + "; its response: " + difference.get(),
                    Optional.of(replayed));
        }
        if (!read.doubt().isEmpty()) {
            String reason = read.doubt() + "; its response: " + difference.get();
            return new Result(name, Verdict.NOT_REPLAYABLE, reason, Optional.of(replayed));
        }
        Optional<String> unknown = unknownState(read, candidate);
        if (unknown.isPresent()) {
            String reason = unknown.get() + "its response: " + difference.get();
            return new Result(name, Verdict.NOT_REPLAYABLE, reason, Optional.of(replayed));
        }
        if (keptState(read, candidate).isPresent()) { // a second run would find another state, and change it again
            return new Result(name, Verdict.DIFFERENT, difference.get(), Optional.of(replayed));
        }
        Optional<String> unsteady = unsteady(runners.get(candidate), read.call(), replayed);
        return unsteady.isPresent()
                ? new Result(
                        name,
                        Verdict.NOT_REPLAYABLE,
                        unsteady.get() + "; the first and the record: " + difference.get(),
                        Optional.of(replayed))
                : new Result(name, Verdict.DIFFERENT, difference.get(), Optional.of(replayed));
    }

    private Optional<String> keptState(CallToReplay read, int candidate) {
        return runners.get(candidate).keptState(read.call());
    }

    /**
     * Returns why the handler's state may have caused a difference, with its separator; empty if it is not known to.
     */
    private Optional<String> unknownState(CallToReplay read, int candidate) {
        String ofSchedule = read.scheduled().unknown();
        String unknown = ofSchedule.isEmpty()
                ? candidates.get(candidate).lostState(read.call().request().in(buffer))
                : ofSchedule;
        return unknown.isEmpty()
                ? Optional.empty()
                : keptState(read, candidate)
                        .map(field ->
                                "its handler may remember earlier calls, in " + field + ", and " + unknown + "; ");
    }

    /** Runs a call again. Returns how the second run differs from the first; empty if it does not. */
    private static Optional<String> unsteady(RequestRunner runner, RecordedCall call, ComparedResponse first) {
        RunOutcome again = runner.run(call);
        if (again instanceof RunOutcome.Stopped stop) {
            return Optional.of("another run of it gave no response: " + stop.reason());
        }
        ComparedResponse second = ((RunOutcome.Responded) again).response();
        try {
            second = runner.onHost(second);
            return EXACT.firstDifference(first, second).map(other -> "two runs of it gave different responses");
        } catch (RejectedMessageException e) {
            return Optional.of(UNREADABLE + e.getMessage());
        } finally {
            second.release();
        }
    }
}
