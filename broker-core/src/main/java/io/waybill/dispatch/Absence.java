package io.waybill.dispatch;

/** Why there is no handler for a request. */
public enum Absence {
    /** No handler is known, or it was removed too long ago: the caller gets an error at once. */
    NEVER_KNOWN,
    /** A handler was removed recently, or handlers are still expected, as when a node starts: the request parks. */
    LEFT
}
