package io.waybill.home;

/** Published state of a worker. */
public enum WorkerState {
    /** The worker has its name and prepares to serve. */
    STARTING,
    /** The worker sends and serves. */
    READY,
    /** The worker left; its name can be joined again. */
    LEFT
}
