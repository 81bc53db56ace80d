package io.waybill.exchange;

import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;

/**
 * Receiver of the one outcome of an {@link Exchange}.
 *
 * <p><b>Threads.</b> The thread that ends the request: each method is called once for a request, the first before the
 * second.
 */
public interface ResponseSink {

    /**
     * Accepts the outcome. Does not throw.
     *
     * @param composed the response; emptied by the caller afterwards
     * @param failed null when {@code composed} is the response
     * @param returned whether the handler has just returned on the calling thread, which may call listeners for events
     * then
     * @return whether the response was sent, and not an error
     */
    boolean respond(OutgoingResponse composed, Failure failed, boolean returned);

    /**
     * Notifies that the request has ended for its handler too, which may leave now.
     *
     * @param reusable whether no other thread uses the request any more
     * @param returned as in {@link #respond}
     */
    void ended(boolean reusable, boolean returned);

    /**
     * Notifies, in place of {@link #ended}, that the request has its outcome, and its handler's thread may still be in
     * the handler: this object is not reused.
     */
    void detached();
}
