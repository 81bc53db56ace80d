package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.compare.Verdict;
import java.util.List;
import java.util.SortedMap;

/**
 * What a replay showed, counted. The same replay gives the same report. Immutable.
 *
 * @param rows by worker, operation, candidate and verdict
 * @param calls how many were replayed, each once however many candidates ran it
 * @param left out, because the broker itself answers them: control operations, and what keeps references in step
 * @param brought along: calls that were run before their turn, selected or not, because others ask for the values that they make
 * @param problems of the recording
 */
public record ReplayReport(List<Row> rows, long calls, long left, long brought, List<String> problems) {

    /** Different reasons in one row. */
    public static final int MAX_REASONS = 100;
    /** What all further reasons count as. */
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
