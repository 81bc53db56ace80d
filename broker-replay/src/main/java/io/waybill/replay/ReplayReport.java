package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.compare.Verdict;
import java.util.List;
import java.util.SortedMap;

/**
 * Counted results of a replay. The same replay has the same report. Immutable.
 *
 * @param rows by worker, operation, candidate and verdict
 * @param calls how many were replayed, each counted once for all candidates
 * @param left calls that were left out, because the broker itself responds to them: control operations and control
 * messages of references
 * @param brought calls that were run besides or early, for the state that they left or the values that they create
 * @param problems of the recording
 */
public record ReplayReport(List<Row> rows, long calls, long left, long brought, List<String> problems) {

    /** Different reasons in one row. */
    public static final int MAX_REASONS = 100;
    /** Name for all further reasons. */
    public static final String OTHER_REASONS = "other reasons";

    /**
     * Calls of one operation with one verdict.
     *
     * @param reasons how often each was given; beyond {@value #MAX_REASONS} of them the rest counts as {@value #OTHER_REASONS}
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

    /** Whether something was replayed, and all of it gave the responses on record. */
    public boolean isAllSame() {
        return calls > 0 && rows.stream().allMatch(row -> row.verdict() == Verdict.SAME);
    }

    /** Results with this verdict, over all operations and candidates. */
    public long count(Verdict verdict) {
        return rows.stream()
                .filter(row -> row.verdict() == verdict)
                .mapToLong(Row::count)
                .sum();
    }
}
