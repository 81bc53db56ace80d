package io.waybill.worker.serve;

import io.waybill.exchange.HandlerCall;
import io.waybill.worker.peer.PeerLink;

/** Requests in flight that a test opens and closes, as the exchanges of a worker do. */
public final class OpenedRequests {

    private OpenedRequests() {}

    /** Adds a slot for the requests of a call; none is in flight yet. */
    public static OpenRequest add(OpenRequests to, HandlerCall call) {
        return to.add(call);
    }

    public static void open(OpenRequest slot, PeerLink from, long id) {
        slot.open(from, 0, id);
    }

    public static void close(OpenRequest slot) {
        slot.close();
    }

    /** Returns whether requests are read, so that they are begun. */
    public static boolean areRead(RequestDispatcher by) {
        return by.isOpen();
    }
}
