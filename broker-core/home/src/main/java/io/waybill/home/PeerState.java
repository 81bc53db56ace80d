package io.waybill.home;

/** State of a worker of the home. */
public enum PeerState {
    STARTING,
    READY,
    LEFT,
    /** The process ended without leaving; its journal waits for the next process of its name. */
    DEAD,
    /** The {@code worker.json} can't be read; see {@link Peer#problem()}. */
    UNREADABLE;

    /** Returns whether a message for the worker will be read soon. */
    public boolean isThere() {
        return this == STARTING || this == READY;
    }
}
