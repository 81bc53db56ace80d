package io.waybill.replay.compare;

/** Verdict on the replay of one request. */
public enum Verdict {
    /** The response equals the recorded one. */
    SAME,
    /** The response differs from the recorded one. */
    DIFFERENT,
    /** The run ended without a response. */
    FAILED,
    /** The response is meaningless, or the request could not be run. */
    NOT_REPLAYABLE
}
