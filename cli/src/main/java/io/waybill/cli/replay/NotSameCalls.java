package io.waybill.cli.replay;

import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.run.CallSink;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sink of replayed calls that counts them, keeps the first few with a different response, and writes all of these to a
 * file.
 *
 * <p><b>Threads.</b> One thread replays; any thread reads the counts.
 */
final class NotSameCalls implements CallSink {

    private final CallText reader;
    private final int max;
    private final PrintWriter lines;
    private final List<ShownCall> kept = new ArrayList<>();
    private long count;
    private long unknown;
    // written by the replaying thread, read by the one that shows progress
    private final AtomicLong replayed = new AtomicLong();

    /**
     * @param max max number of kept calls
     * @param lines receives a line of JSON for each call; owned by its creator
     */
    NotSameCalls(CallText reader, int max, PrintWriter lines) {
        this.reader = reader;
        this.max = max;
        this.lines = lines;
    }

    @Override
    public void accept(ReplayedCall call) {
        replayed.lazySet(replayed.get() + 1);
        if (call.results().stream().allMatch(result -> result.verdict() == Verdict.SAME)) {
            return;
        }
        ShownCall shown = reader.read(call);
        ReportJson.writeLine(shown, lines);
        count++;
        if (call.results().stream().allMatch(result -> isUnknown(result.verdict()))) {
            unknown++;
        }
        if (kept.size() < max) {
            kept.add(shown);
        }
    }

    /** Returns the first calls that are not the same. */
    List<ShownCall> kept() {
        return List.copyOf(kept);
    }

    /** Returns the number of calls that are not the same. */
    long count() {
        return count;
    }

    /**
     * Returns how many of these can't be compared with their record by any handlers, so that their response is unknown.
     */
    long unknown() {
        return unknown;
    }

    private static boolean isUnknown(Verdict verdict) {
        return verdict == Verdict.SAME || verdict == Verdict.NOT_REPLAYABLE;
    }

    /** Returns the number of calls so far, the same or not. */
    long replayed() {
        return replayed.get();
    }
}
