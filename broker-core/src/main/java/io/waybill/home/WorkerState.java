package io.waybill.home;

/** What a worker says of itself. */
public enum WorkerState {
    /** It has its name and prepares to serve. */
    STARTING,
    /** It sends and serves. */
    READY,
    /** It left, and its name waits for the next one to join under it. */
    LEFT
}
