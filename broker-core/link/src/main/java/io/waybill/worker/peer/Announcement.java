package io.waybill.worker.peer;

/** Notifies a peer of a record that was written for it. Thread-safe. */
@FunctionalInterface
public interface Announcement {

    /** Notifies the peer immediately. */
    Announcement AT_ONCE = PeerLink::ringIfAsleep;

    /** Notifies the peer of a request, or of a response. Call after the append. */
    void announce(PeerLink peer, boolean isResponse);
}
