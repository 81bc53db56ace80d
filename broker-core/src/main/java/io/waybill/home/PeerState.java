package io.waybill.home;

/** What is known of a worker of the home. */
public enum PeerState {
    STARTING,
    READY,
    LEFT,
    /** It died without leaving; its journal waits for the next one of its name. */
    DEAD,
    /** Its {@code worker.json} does not read; see {@link Peer#problem()}. */
    UNREADABLE;

    /** Whether a message for it will be read soon. */
    public boolean isThere() {
        return this == STARTING || this == READY;
    }
}
