package io.waybill.worker.peer;

/** How a peer learns that a record for it was written. Thread-safe. */
@FunctionalInterface
public interface Announcement {

    /** It may read it at once. */
    Announcement AT_ONCE = PeerLink::ringIfAsleep;

    /** Call after the append. */
    void announce(PeerLink peer);
}
