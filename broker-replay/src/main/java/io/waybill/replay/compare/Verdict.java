package io.waybill.replay.compare;

/** What a replay of one request showed. */
public enum Verdict {
    /** The same answer. */
    SAME,
    /** Another answer. */
    DIFFERENT,
    /** It did not run to a response. */
    FAILED,
    /** Its response says nothing, or it could not be run. */
    NOT_REPLAYABLE
}
