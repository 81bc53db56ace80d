package io.waybill.journal;

/** What a worker's journal promises for a power cut, or a kernel that crashes. All survive a process that is killed. */
public enum Durability {
    /** Nothing is synced: the last seconds may be lost. */
    PROCESS,
    /** What was written is synced ever so often: that long and no longer is lost, from the end. */
    INTERVAL,
    /** No record is acted on before it is on the disk: nothing that a peer has seen is lost. */
    EACH
}
