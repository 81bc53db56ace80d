package io.waybill.exchange;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.api.policy.AccessRequest;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.Route;
import io.waybill.wire.RecordView;

/**
 * Source of the request of an {@link Exchange}: a peer, a handler that dispatched it from inside another one, or a
 * record that is replayed. It provides the content of the request, and further services for its handler.
 *
 * <p><b>Threads.</b> The threads of the exchange: the thread that admits it, then the handler's, then the one that ends
 * it. {@link #id} and {@link #deadlineNs} may be read by any thread.
 */
public interface RequestSource {

    /** Returns the request's record, valid until the request is released. */
    RecordView view();

    /** Returns the id of the request; {@link io.waybill.api.MessageId#NONE} when it has ended. */
    long id();

    /** Returns the deadline on CLOCK_BOOTTIME; 0 for none, or when it no longer applies. */
    long deadlineNs();

    /** Returns whether a request in flight, in any worker, may wait for this one. */
    boolean isNested();

    /** Returns whether an earlier incarnation may have begun the request. */
    Delivered delivered();

    /** Returns the context that is current in the handler. */
    CallContext context();

    /** Returns the services for the handler besides the message and its response. */
    HandlerServices services();

    // ---- around the handler

    /** Notifies that foreign code is about to run, on the handler's thread. Does not throw. */
    default void beginning() {}

    /**
     * Shows the message to its handler. May run a converter of a bundle, which may be slow.
     *
     * @throws RejectedMessageException when the tensors can't be moved to their devices
     */
    InboundMessage open(HandlerEntry by) throws RejectedMessageException;

    /**
     * Returns whether the request goes to the handler's threads when the handler blocks for it, and the calling thread
     * must not wait.
     */
    default boolean movesOn() {
        return false;
    }

    /** Reports to listeners for events that the handler is about to be called. */
    default void reportBegun(HandlerStack stack) {}

    /** Returns why the content of the request can't be relied on any more; null when it can. */
    default Failure damage() {
        return null;
    }

    /** Releases the content of the request, while the handler's thread may still be in the handler. Does not throw. */
    void giveUp();

    /**
     * Releases the content of the request, which has ended. Returns whether this object can be reused. Does not throw.
     */
    boolean release();

    // ---- for messages inside this one

    /** Returns the name of the worker that sent the outermost request. */
    String senderName();

    /** Returns whether the worker sent the outermost request to itself. */
    boolean isFromSelf();

    /**
     * Returns the request for the decision of access policies.
     *
     * @param uid owner of all files that requests are read from
     */
    default AccessRequest accessRequest(long uid) {
        RecordView view = view();
        return new AccessRequest(
                view.from(), senderName(), uid, view.type(), Route.called(view), view.id(), isFromSelf());
    }

    /**
     * Returns the creation of a value, for one message inside this request; null when there is none, or it was taken.
     */
    InnerCreation takeCreation();

    /** Returns the number of messages that this request is inside of. */
    default int depth() {
        return 0;
    }

    /** Returns the types of the messages that this request is inside of, the outermost first, and its own. */
    default String path() {
        return view().type().name();
    }
}
