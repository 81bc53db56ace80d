package io.waybill.crash.history;

/** Something in a history that the promises rule out. Immutable. */
public record Problem(Kind kind, String text) {

    /** Which promise was broken. */
    public enum Kind {
        /** A queue holds something that is no record of its worker. */
        JOURNAL_DAMAGED,
        /** Numbers of records that don't follow each other. */
        RECORD_MISSING,
        /** An id was given twice, or not in order, in one incarnation or over several. */
        ID_REUSED,
        /** The journal has a request that the worker didn't make. */
        REQUEST_UNKNOWN,
        /** A request is not what the worker asked for. */
        REQUEST_ALTERED,
        /** A call was acknowledged, and the journal doesn't have it. */
        REQUEST_LOST,
        /** A request has no response on record, though its worker ended in order, then or in a later incarnation. */
        REQUEST_UNSERVED,
        /** A call was refused, and the journal has it. */
        REFUSED_AND_WRITTEN,
        /** A call has no outcome, though its caller lived. */
        NO_OUTCOME,
        /** A call has more than one. */
        TWO_OUTCOMES,
        /** A call that nobody made has one. */
        OUTCOME_UNKNOWN,
        /** A caller that returned was not given a response that is on record. */
        CLAIM_DENIED,
        /** A call failed for a reason that nothing in the run explains. */
        FAILURE_UNEXPECTED,
        /** Callers were told that a worker is lost that lived on. */
        LOST_TOO_EARLY,
        /** Callers were told long after it that a worker died. */
        LOST_TOO_LATE,
        /** A call timed out before its deadline. */
        TIMED_OUT_TOO_EARLY,
        /** A handler that runs at most once ran twice. */
        RAN_TWICE,
        /** A handler ran in another incarnation than the one that the request was for. */
        RAN_IN_OTHER_INCARNATION,
        /** A handler ran for what no journal asked for. */
        RAN_UNASKED,
        /** A handler began what had expired. */
        RAN_TOO_LATE,
        /** Requests of one worker for one handler began in another order than they were sent in. */
        OUT_OF_ORDER,
        /** The journal has a response for which no handler was asked, or none ran. */
        RESPONSE_UNASKED,
        /** One request has two responses. */
        TWO_RESPONSES,
        /** The caller has a response that the journal doesn't have. */
        RESPONSE_MISSING,
        /** A response is not what the handler gave, or the caller's response not what the response says. */
        RESPONSE_ALTERED
    }

    @Override
    public String toString() {
        return kind + ": " + text;
    }
}
