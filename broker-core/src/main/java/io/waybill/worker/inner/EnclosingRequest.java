package io.waybill.worker.inner;

import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.wire.RecordView;

/**
 * A request whose handler dispatches messages that are inside it.
 *
 * <p><b>Threads.</b> Belongs to the handler's thread, except {@link #dispatched} and what the outbox allows.
 */
public interface EnclosingRequest {

    RecordView view();

    /** Returns the handler of this request. */
    HandlerEntry entry();

    /** Returns the outbox, whose calls, buffers, clock and random numbers the handlers of inner messages share. */
    Outbox outbox();

    /** Returns the name of the worker that sent the request. */
    String senderName();

    /** Returns whether the worker sent the request to itself. */
    boolean isFromSelf();

    /** Returns whether an earlier incarnation may have begun the request. */
    Delivered delivered();

    /** Returns the time until a deadline on CLOCK_BOOTTIME; the reading is recorded. */
    long leftNs(long deadlineNs);

    /** Returns the creation of a value, for one message inside this request; null when there is none, or it was taken. */
    InnerCreation takeCreation();

    /** Returns how many messages this request is inside of. */
    int depth();

    /** Returns the types of the messages that this request is inside of, the outermost first, and its own. */
    String path();

    /** Returns the count of the messages that the handler dispatched. This object is not reused while there are any. */
    DispatchedCount dispatched();
}
