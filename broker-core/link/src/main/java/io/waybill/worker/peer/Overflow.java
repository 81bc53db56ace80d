package io.waybill.worker.peer;

/** Policy for a call for which a peer, or this worker, has no room. */
public enum Overflow {
    /** The caller waits until there is room, or its deadline passes. */
    WAIT,
    /** The call is rejected immediately. */
    REFUSE
}
