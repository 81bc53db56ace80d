package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Judges the order in which one incarnation of a worker began requests, and whether it began what had expired. One thread. */
final class SequenceCheck {

    /** How late a handler may begin because its thread did not run between the look at the clock and its first line. */
    private static final long SLACK_NS = 500_000_000;
    /** A worker looks at the clock every eight requests: so many may begin late after a pause, and those that were under way. */
    private static final int MOST_BEHIND_A_PAUSE = 16;

    /** Threads that were under way when their process was paused. */
    private static final int MOST_THREADS = 8;

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
        long[] recentNs = new long[MOST_BEHIND_A_PAUSE]; // when the last ones began
        int begun = 0;
        int late = 0;
        for (Event event : log) {
            if (event.kind() != Event.Kind.BEGUN) {
                continue;
            }
            long longAgoNs = recentNs[begun % MOST_BEHIND_A_PAUSE];
            recentNs[begun++ % MOST_BEHIND_A_PAUSE] = event.atNs();
            Call call = history.find(event.id());
            if (call.request != null) {
                checkOrder(call, lastIds);
                if (isLate(call.request, event, longAgoNs) && ++late > MOST_THREADS) {
                    problems.add(
                            Kind.RAN_TOO_LATE,
                            call.request + ", deadline " + call.request.deadlineNs() + ", began as " + event);
                }
            }
        }
    }

    private void checkOrder(Call call, Map<Long, Long> lastIds) {
        StoredMessage request = call.request;
        if (expected.serial().contains(request.type())) {
            Long before = lastIds.put((long) call.caller() << 16 | request.type(), call.id);
            if (before != null && before > call.id) {
                problems.add(Kind.OUT_OF_ORDER, String.format("%s began behind %x", request, before));
            }
        }
    }

    /** @param longAgoNs when the worker began another request, since when it must have looked at the clock */
    private static boolean isLate(StoredMessage request, Event begun, long longAgoNs) {
        long deadlineNs = request.deadlineNs();
        return deadlineNs != 0 && begun.atNs() > deadlineNs + SLACK_NS && longAgoNs > deadlineNs + SLACK_NS / 2;
    }
}
