package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongConsumer;

/** Counter of the verdicts of replayed calls. One thread. */
final class VerdictCounts {

    private static final int PROGRESS_CALLS = 1 << 12;

    private final Map<Operation, EnumMap<Verdict, Count>> counts = new HashMap<>();
    private final List<String> candidates;
    private final LongConsumer progress;
    private long calls;
    private Operation last; // the next one is usually the same

    private record Operation(WorkerInfo worker, String name, int candidate) {}

    private static final class Count {
        private long calls;
        private final SortedMap<String, Long> reasons = new TreeMap<>();

        void add(String reason) {
            calls++;
            if (!reason.isEmpty()) {
                boolean room = reasons.size() < ReplayReport.MAX_REASONS || reasons.containsKey(reason);
                reasons.merge(room ? reason : ReplayReport.OTHER_REASONS, 1L, Long::sum);
            }
        }
    }

    VerdictCounts(List<String> candidates, LongConsumer progress) {
        this.candidates = candidates;
        this.progress = progress;
    }

    void add(ReplayedCall call) {
        if (++calls % PROGRESS_CALLS == 0) {
            progress.accept(calls);
        }
        for (int i = 0; i < call.results().size(); i++) {
            ReplayedCall.Result result = call.results().get(i);
            last = operation(call, i);
            counts.computeIfAbsent(last, operation -> new EnumMap<>(Verdict.class))
                    .computeIfAbsent(result.verdict(), verdict -> new Count())
                    .add(result.reason());
        }
    }

    private Operation operation(ReplayedCall call, int candidate) {
        boolean same = last != null
                && last.candidate == candidate
                && last.worker.equals(call.worker())
                && last.name.equals(call.operation());
        return same ? last : new Operation(call.worker(), call.operation(), candidate);
    }

    ReplayReport report(long left, long brought, List<String> problems) {
        List<Operation> operations = new ArrayList<>(counts.keySet());
        operations.sort(Comparator.comparingInt((Operation operation) -> operation.worker.id())
                .thenComparing(Operation::name)
                .thenComparingInt(Operation::candidate));
        List<ReplayReport.Row> rows = new ArrayList<>();
        for (Operation operation : operations) {
            counts.get(operation)
                    .forEach((verdict, count) -> rows.add(new ReplayReport.Row(
                            operation.worker,
                            operation.name,
                            candidates.get(operation.candidate),
                            verdict,
                            count.calls,
                            count.reasons)));
        }
        return new ReplayReport(rows, calls, left, brought, problems);
    }
}
