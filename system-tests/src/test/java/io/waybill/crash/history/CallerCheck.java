package io.waybill.crash.history;

import io.waybill.crash.history.Problem.Kind;

/** Judges calls from their callers' side: is each that was acknowledged in the journal, and has it one outcome? One thread. */
final class CallerCheck {

    private static final int TIMED_OUT = 6;
    private static final int WORKER_LOST = 2004;
    private static final int JOURNAL_FAILED = 2006;
    private static final int TENSORS_GONE = 2011;
    private static final long MS = 1_000_000;
    /** How far the clocks of two processes may be apart. */
    private static final long APART_NS = 5 * MS;
    /** Callers learn of a loss at once; on a busy machine that takes a while. */
    private static final long LOSS_REPORTED_NS = 20_000 * MS;

    private final History history;
    private final Expectations expected;
    private final Problems problems;
    private long acknowledged;
    private long outcomes;
    private long unknown;

    CallerCheck(History history, Expectations expected, Problems problems) {
        this.history = history;
        this.expected = expected;
        this.problems = problems;
    }

    void check(Call call) {
        checkRequest(call);
        checkCount(call);
        for (Call.Seen outcome : call.outcomes) {
            outcomes++;
            checkOutcome(call, outcome);
        }
        call.claims.forEach(claim -> checkClaim(call, claim));
    }

    private void checkRequest(Call call) {
        acknowledged += call.sent.isEmpty() ? 0 : 1;
        if (call.sent.size() > 1) {
            problems.add(Kind.ID_REUSED, call + " was given to " + call.sent);
        }
        for (Call.Seen sent : call.sent) {
            if (sent.incarnation().id != call.caller()) {
                problems.add(Kind.ID_REUSED, call + " is no id of " + sent.incarnation());
            }
            if (call.request != null) {
                checkContent(call, sent);
            } else if (!call.failed()) { // what ended before it was written, its caller was told of
                problems.add(Kind.REQUEST_LOST, call + " was acknowledged to " + sent.incarnation());
            }
        }
        if (call.request != null && call.sent.isEmpty()) {
            checkUnlogged(call.request);
        }
        if (call.request != null && call.responses.isEmpty() && !expected.diskFills()) {
            checkUnserved(call.request);
        }
    }

    /** Also what had expired, and what was for an incarnation that ended, has a response: an error. */
    private void checkUnserved(StoredMessage request) {
        if (history.hasEnded(request.to(), request.epoch())) {
            problems.add(Kind.REQUEST_UNSERVED, request + " has no response, and its worker ended in order");
        }
    }

    private void checkContent(Call call, Call.Seen sent) {
        StoredMessage request = call.request;
        Event event = sent.event();
        if (request.digest() != event.digest()
                || request.number() != event.number()
                || request.callerIncarnation() != sent.incarnation().epoch) {
            problems.add(Kind.REQUEST_ALTERED, request + " is not call " + event + " of " + sent.incarnation());
        }
        if (request.deadlineNs() == 0 || request.deadlineNs() > event.atNs() + event.code() * MS) {
            problems.add(
                    Kind.REQUEST_ALTERED, request + " has the deadline " + request.deadlineNs() + ", sent as " + event);
        }
    }

    /** A request without a line in its caller's log: the last one before a kill, or one that should not be there. */
    private void checkUnlogged(StoredMessage request) {
        Incarnation incarnation = history.incarnation(request.caller(), request.callerIncarnation() & 0xffffffffL);
        int refusal = incarnation == null ? 0 : incarnation.refusal(request.number());
        if (refusal != 0 && refusal != JOURNAL_FAILED) {
            problems.add(Kind.REFUSED_AND_WRITTEN, request + ", refused with " + refusal + " to " + incarnation);
        } else if (refusal == 0 && (incarnation == null || !incarnation.mayHaveSent(request.number()))) {
            problems.add(Kind.REQUEST_UNKNOWN, request + ", call " + request.number() + " of " + incarnation);
        }
    }

    private void checkCount(Call call) {
        if (call.outcomes.size() > 1) {
            problems.add(Kind.TWO_OUTCOMES, call + " has " + call.outcomes);
        }
        if (!call.outcomes.isEmpty() && call.sent.isEmpty() && call.request == null) {
            problems.add(Kind.OUTCOME_UNKNOWN, call + " was never sent and has " + call.outcomes);
        }
        if (!call.sent.isEmpty() && call.outcomes.isEmpty()) {
            Incarnation incarnation = call.sent.get(0).incarnation();
            if (incarnation.ended || call.claims.isEmpty() && history.hasEndedAfter(incarnation)) {
                problems.add(Kind.NO_OUTCOME, call + " of " + incarnation);
            }
            unknown += call.claims.isEmpty() ? 1 : 0;
        }
    }

    private void checkOutcome(Call call, Call.Seen outcome) {
        Event event = outcome.event();
        if (outcome.incarnation().id != call.caller()) {
            problems.add(Kind.OUTCOME_UNKNOWN, call + " was told to " + outcome.incarnation());
        } else if (event.kind() == Event.Kind.OK) {
            checkResponse(call, event);
        } else {
            checkFailure(call, event);
        }
    }

    private void checkClaim(Call call, Call.Seen claim) {
        Event event = claim.event();
        if (call.request == null || claim.incarnation().id != call.caller()) {
            problems.add(Kind.OUTCOME_UNKNOWN, call + " was claimed by " + claim.incarnation());
        } else if (event.kind() == Event.Kind.CLAIMED) {
            checkResponse(call, event);
        } else if (!expected.failures().contains(event.code()) && !wentWithItsCaller(call, event)
                || event.code() == WORKER_LOST && !isRepeatable(call) && isResponded(call)) {
            problems.add(
                    Kind.CLAIM_DENIED,
                    call + " was claimed and failed with " + event + ", the journal has " + call.responses);
        }
        for (Call.Seen outcome : call.outcomes) {
            Event notified = outcome.event();
            if (notified.kind() == Event.Kind.OK
                    && (event.kind() != Event.Kind.CLAIMED || event.digest() != notified.digest())) {
                problems.add(Kind.TWO_OUTCOMES, call + " had " + notified + " and was claimed as " + event);
            }
        }
    }

    /** Whether its tensors ended with the process that had sent them, before the callee came to it. */
    private static boolean wentWithItsCaller(Call call, Event claim) {
        return claim.code() == TENSORS_GONE && call.request.tensors() > 0 && !isResponded(call);
    }

    private boolean isRepeatable(Call call) {
        return call.request.isForLaterIncarnations() && expected.repeatable().contains(call.request.type());
    }

    private static boolean isResponded(Call call) {
        return call.responses.stream().anyMatch(response -> !response.isException());
    }

    private void checkResponse(Call call, Event event) {
        boolean any = false;
        for (StoredMessage response : call.responses) {
            if (!response.isException()) {
                any = true;
                if (response.digest() == event.digest()) {
                    return;
                }
            }
        }
        problems.add(
                any ? Kind.RESPONSE_ALTERED : Kind.RESPONSE_MISSING,
                call + " was responded to with " + event + ", the journal has " + call.responses);
    }

    private void checkFailure(Call call, Event event) {
        int code = event.code();
        if (!expected.failures().contains(code)) {
            problems.add(Kind.FAILURE_UNEXPECTED, call + " failed with " + code);
        }
        if (call.request == null) {
            return;
        }
        if (code == TIMED_OUT && event.atNs() < call.request.deadlineNs() - APART_NS) {
            problems.add(
                    Kind.TIMED_OUT_TOO_EARLY, call + " at " + event.atNs() + ", deadline " + call.request.deadlineNs());
        }
        if (code == WORKER_LOST) {
            checkLoss(call, event);
        }
    }

    private void checkLoss(Call call, Event event) {
        Incarnation callee = history.incarnation(call.request.to(), call.request.epoch());
        if (callee == null) {
            return;
        }
        if (callee.lastAtNs > event.atNs() + APART_NS) {
            problems.add(
                    Kind.LOST_TOO_EARLY,
                    call + " at " + event.atNs() + ", " + callee + " worked at " + callee.lastAtNs);
        }
        boolean endsAtOnce = !call.request.isForLaterIncarnations() && !expected.stopsProcesses();
        if (endsAtOnce && callee.lastAtNs + LOSS_REPORTED_NS < event.atNs()) {
            problems.add(
                    Kind.LOST_TOO_LATE,
                    call + " at " + event.atNs() + ", " + callee + " worked last at " + callee.lastAtNs);
        }
    }

    long acknowledged() {
        return acknowledged;
    }

    long outcomes() {
        return outcomes;
    }

    long unknown() {
        return unknown;
    }
}
