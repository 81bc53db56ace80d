package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.compare.Verdict;
import java.util.List;
import java.util.SortedMap;

/**
 * Counted results of a replay. Equal replays have equal reports. Immutable.
 *
 * @param rows by worker, operation, candidate and verdict
 * @param calls number of replayed calls, each counted once for all candidates
 * @param left omitted calls, because the broker itself responds to them: control operations and control messages of
 *     references
 * @param brought unselected calls that ran for their state, or early for the values that they create
 * @param problems of the recording
 */
public record ReplayReport(List<Row> rows, long calls, long left, long brought, List<String> problems) {

    /** Max number of different reasons in one row. */
    public static final int MAX_REASONS = 100;
    /** Name that stands for all further reasons. */
    public static final String OTHER_REASONS = "other reasons";

    /**
     * Calls of one operation with one verdict.
     *
     * @param reasons number of occurrences of each reason; beyond {@value #MAX_REASONS} reasons the rest counts as
     *     {@value #OTHER_REASONS}
     */
    public record Row(
            WorkerInfo worker,
            String operation,
            String candidate,
            Verdict verdict,
            long count,
            SortedMap<String, Long> reasons) {}

    public ReplayReport {
        rows = List.copyOf(rows);
        problems = List.copyOf(problems);
    }

    /** Returns whether at least one call was replayed, and all gave the recorded responses. */
    public boolean isAllSame() {
        return calls > 0 && rows.stream().allMatch(row -> row.verdict() == Verdict.SAME);
    }

    /** Returns the number of results with this verdict, over all operations and candidates. */
    public long count(Verdict verdict) {
        return rows.stream()
                .filter(row -> row.verdict() == verdict)
                .mapToLong(Row::count)
                .sum();
    }
}
