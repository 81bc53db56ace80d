package io.waybill.worker.serve;

import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerCall;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Which request an {@link Exchange} has in flight that is not finished.
 *
 * <p><b>Threads.</b> Written by the thread that the exchange belongs to, read by the housekeeper. What it reads may be a request that is finished
 * already, never one that was not yet taken in flight.
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
    // Of the housekeeper alone: of which of its requests it saw the deferred response awaited first, and when.
    private long seenSequence;
    private long seenSinceNs;
    private PeerLink link; // null: none
    private long index;
    private long id;

    OpenRequest(HandlerCall request) {
        this.request = request;
    }

    /** Whose it is: of this request, or of a later one. */
    public HandlerCall request() {
        return request;
    }

    /** How long the housekeeper sees this one of its requests. */
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
        LINK.setRelease(this, from); // last: who sees it sees the index
    }

    /** Its response is in the journal, or it waits elsewhere. */
    void close() {
        LINK.setRelease(this, null); // not before that
    }

    /** Null for none. */
    PeerLink link() {
        return (PeerLink) LINK.getAcquire(this);
    }

    /** Its message's, to be read like the index. */
    long id() {
        return id;
    }

    /** To be read after the link: of this request, or of a later one. */
    long index() {
        return index;
    }
}
