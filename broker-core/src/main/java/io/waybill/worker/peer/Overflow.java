package io.waybill.worker.peer;

/** What happens to a call that a peer, or this worker, has no room for. */
public enum Overflow {
    /** The caller waits until there is room, or its deadline. */
    WAIT,
    /** The caller is refused at once. */
    REFUSE
}
