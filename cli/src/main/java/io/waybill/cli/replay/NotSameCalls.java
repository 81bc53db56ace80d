package io.waybill.cli.replay;

import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.run.CallSink;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes the calls of a replay, counts them, keeps the first few that did not give the response on record, and writes all of those to a file.
 *
 * <p><b>Threads.</b> One replays; any asks for the count.
 */
final class NotSameCalls implements CallSink {

    private final CallText reader;
    private final int max;
    private final PrintWriter lines;
    private final List<ShownCall> kept = new ArrayList<>();
    private long count;
    private long unknown;
    private final AtomicLong replayed = new AtomicLong(); // counted by who replays, read by who shows progress

    /**
     * @param max how many are kept
     * @param lines takes a line of JSON for each; its maker's
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

    /** The first ones that are not the same. */
    List<ShownCall> kept() {
        return List.copyOf(kept);
    }

    /** How many are not the same. */
    long count() {
        return count;
    }

    /** How many of these can't be compared with their record by any of the handlers: nothing is known of their response. */
    long unknown() {
        return unknown;
    }

    private static boolean isUnknown(Verdict verdict) {
        return verdict == Verdict.SAME || verdict == Verdict.NOT_REPLAYABLE;
    }

    /** How many calls came so far, the same or not. */
    long replayed() {
        return replayed.get();
    }
}
