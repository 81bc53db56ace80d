package io.waybill.journal;

/** What a worker's journal promises for a power cut, or a kernel that crashes. All survive a process that is killed. */
public enum Durability {
    /** Nothing is synced: the last seconds may be lost. */
    PROCESS,
    /** What was written is synced ever so often: that long and no longer is lost, from the end. */
    INTERVAL,
    /** Nobody acts on a record before it is on the disk: nothing is lost that anybody heard of. */
    EACH
}
