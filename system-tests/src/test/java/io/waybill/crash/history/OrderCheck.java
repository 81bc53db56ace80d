package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Judges the order in which a worker began the requests of another one to one handler, by the numbers that its responses give. The lines
 * of a tally are no witness to it where several threads write them. One thread, once.
 */
final class OrderCheck {

    /** Requests that are begun in order. */
    private record Stream(Incarnation incarnation, int caller, int type) {}

    private final Expectations expected;
    private final Problems problems;
    private final Map<Stream, List<Call>> streams = new HashMap<>();

    OrderCheck(Expectations expected, Problems problems) {
        this.expected = expected;
        this.problems = problems;
    }

    void take(Call call) {
        if (call.request != null
                && expected.ordered().contains(call.request.type())
                && call.responses.size() == 1
                && call.runs.size() == 1
                && sequence(call) > 0) {
            Stream stream = new Stream(call.runs.get(0).incarnation(), call.caller(), call.request.type());
            streams.computeIfAbsent(stream, key -> new ArrayList<>()).add(call);
        }
    }

    private static long sequence(Call call) {
        return call.responses.get(0).handlerSequence();
    }

    void check() {
        streams.forEach((stream, calls) -> {
            calls.sort(Comparator.comparingLong(OrderCheck::sequence));
            for (int i = 1; i < calls.size(); i++) {
                if (calls.get(i).id <= calls.get(i - 1).id) {
                    problems.add(
                            Kind.OUT_OF_ORDER,
                            calls.get(i).request + " began behind " + calls.get(i - 1) + " in " + stream.incarnation());
                }
            }
        });
    }
}
