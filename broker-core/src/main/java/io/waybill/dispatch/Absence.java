package io.waybill.dispatch;

/** Why there is no handler for a request. */
public enum Absence {
    /** There was none, as far as is known here, or it left too long ago: the caller gets an error at once. */
    NEVER_KNOWN,
    /** There was one, and it left not long ago; or handlers are still to come, as when a node starts: the request parks. */
    LEFT
}
