package io.waybill.worker.serve;

import io.waybill.exchange.HandlerCall;
import io.waybill.worker.peer.PeerLink;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The request that a {@link PeerRequest} has in flight.
 *
 * <p><b>Threads.</b> Written by the thread that owns the exchange, read by the housekeeper. The housekeeper may read a
 * request that is already completed, never one that is not yet in flight.
 */
public final class OpenRequest {

    private static final VarHandle LINK;

    static {
        try {
            LINK = MethodHandles.lookup().findVarHandle(OpenRequest.class, "link", PeerLink.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final HandlerCall request;
    // Of the housekeeper alone: the sequence of the request whose deferred response it saw awaited, and the time at
    // which it first did.
    private long seenSequence;
    private long seenSinceNs;
    private PeerLink link; // null: none in flight
    private long index;
    private long id;

    OpenRequest(HandlerCall request) {
        this.request = request;
    }

    /** Returns the call of this request, or of a later one. */
    public HandlerCall request() {
        return request;
    }

    /** Returns the time for which the housekeeper has seen this request. */
    public long seenForNs(long sequence, long nowNs) {
        if (seenSequence != sequence) {
            seenSequence = sequence;
            seenSinceNs = nowNs;
        }
        return nowNs - seenSinceNs;
    }

    void open(PeerLink from, long atIndex, long withId) {
        index = atIndex;
        id = withId;
        LINK.setRelease(this, from); // last: a thread that sees it sees the index
    }

    /** Ends the request: its response is in the journal, or it waits elsewhere. */
    void close() {
        LINK.setRelease(this, null); // not before the response is in the journal, or the request waits elsewhere
    }

    /** Returns the link; null for none. */
    PeerLink link() {
        return (PeerLink) LINK.getAcquire(this);
    }

    /** Returns the message id; read it like the index. */
    long id() {
        return id;
    }

    /** Returns the position of this request, or of a later one. Read it after the link. */
    long index() {
        return index;
    }
}
