package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;
import java.util.HashSet;
import java.util.Set;

/** Judges calls from their handlers' side: did each run as often as it may, and is its response what it gave? One thread. */
final class HandlerCheck {

    private final Expectations expected;
    private final Problems problems;
    private long runs;

    HandlerCheck(Expectations expected, Problems problems) {
        this.expected = expected;
        this.problems = problems;
    }

    void check(Call call) {
        runs += call.runs.size();
        if (call.request == null) {
            if (!call.runs.isEmpty()) {
                problems.add(Kind.RAN_UNASKED, call + " is in no journal and ran: " + call.runs);
            }
            if (!call.responses.isEmpty()) {
                problems.add(Kind.RESPONSE_UNASKED, call + " is in no journal and was responded to: " + call.responses);
            }
            return;
        }
        checkRuns(call);
        checkResponses(call);
    }

    private void checkRuns(Call call) {
        StoredMessage request = call.request;
        boolean repeatable =
                request.isForLaterIncarnations() && expected.repeatable().contains(request.type());
        if (call.runs.size() > 1 && !(repeatable && areDistinguished(call))) {
            problems.add(Kind.RAN_TWICE, call + ": " + call.runs);
        }
        for (Call.Seen run : call.runs) {
            if (run.incarnation().id != request.to()) {
                problems.add(Kind.RAN_UNASKED, request + " ran in " + run.incarnation());
            } else if ((run.incarnation().epoch & 0xffffffffL) != request.epoch() && !repeatable) {
                problems.add(
                        Kind.RAN_IN_OTHER_INCARNATION,
                        request + " was for generation " + request.epoch() + ", ran in " + run.incarnation());
            }
            if (run.event().digest() != request.digest()) {
                problems.add(Kind.REQUEST_ALTERED, request + " reached the handler as " + run.event());
            }
        }
        for (Call.Seen response : call.handlerResponses) {
            if (response.incarnation().ended && call.responses.isEmpty() && !expected.diskFills()) {
                problems.add(Kind.RESPONSE_MISSING, call + " was responded to by " + response.incarnation());
            }
        }
    }

    /** Whether it ran once in an incarnation, and the handler was told of each repetition. */
    private static boolean areDistinguished(Call call) {
        Incarnation first = call.runs.get(0).incarnation();
        Set<Incarnation> incarnations = new HashSet<>();
        for (Call.Seen run : call.runs) {
            first = run.incarnation().epoch < first.epoch ? run.incarnation() : first;
            incarnations.add(run.incarnation());
        }
        Incarnation begun = first;
        return incarnations.size() == call.runs.size()
                && call.runs.stream()
                        .allMatch(
                                run -> run.incarnation() == begun || run.event().code() == Event.REDELIVERY);
    }

    private void checkResponses(Call call) {
        if (call.responses.size() > 1) {
            problems.add(Kind.TWO_RESPONSES, call + ": " + call.responses);
        }
        for (StoredMessage response : call.responses) {
            if (response.from() != call.request.to() || response.to() != call.caller()) {
                problems.add(Kind.RESPONSE_UNASKED, response + " to " + call.request);
            } else if (!response.isException() && call.handlerResponses.isEmpty()) {
                problems.add(Kind.RESPONSE_UNASKED, response + ", and no handler responded");
            } else if (!response.isException() && !call.wasRespondedWith(response.digest())) {
                problems.add(Kind.RESPONSE_ALTERED, response + ", the handler gave " + call.handlerResponses);
            }
        }
    }

    long runs() {
        return runs;
    }
}
