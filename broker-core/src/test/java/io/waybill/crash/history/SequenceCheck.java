package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Judges the order in which one life of a worker began requests, and whether it began what had expired. One thread. */
final class SequenceCheck {

    /** How late a handler may begin because its thread did not run between the look at the clock and its first line. */
    private static final long SLACK_NS = 500_000_000;
    /** A worker looks at the clock every eight requests: so many may begin late after a pause, and those that were under way. */
    private static final int MOST_LATE_IN_A_ROW = 16;

    private final History history;
    private final Expectations expected;
    private final Problems problems;

    SequenceCheck(History history, Expectations expected, Problems problems) {
        this.history = history;
        this.expected = expected;
        this.problems = problems;
    }

    void check(List<Event> log) {
        Map<Long, Long> lastIds = new HashMap<>(); // of a caller and a type
        int late = 0;
        for (Event event : log) {
            Call call = event.kind() == Event.Kind.BEGUN ? history.find(event.id()) : null;
            if (call == null || call.request == null) {
                continue;
            }
            StoredMessage request = call.request;
            if (expected.ordered().contains(request.type())) {
                Long before = lastIds.put((long) call.caller() << 16 | request.type(), call.id);
                if (before != null && before > call.id) {
                    problems.add(Kind.OUT_OF_ORDER, String.format("%s began behind %x", request, before));
                }
            }
            late = request.deadlineNs() != 0 && event.atNs() > request.deadlineNs() + SLACK_NS ? late + 1 : 0;
            if (late > MOST_LATE_IN_A_ROW) {
                problems.add(
                        Kind.RAN_TOO_LATE,
                        request + ", deadline " + request.deadlineNs() + ", began at " + event.atNs());
            }
        }
    }
}
