package io.waybill.worker.call;

import io.waybill.api.Caller;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.exchange.CallOrigin;
import java.util.concurrent.CompletableFuture;

/**
 * Caller on behalf of a request: its calls have the request's id as their parent and end at the request's deadline at
 * the latest.
 */
public final class NestedCaller implements Caller, CallOrigin {

    private final Calls calls;
    // Set before the handler sees this object, and reset after it returned: no other thread is notified of a change in
    // between.
    private long parent = MessageId.NONE;
    private long deadlineNs;

    public NestedCaller(Calls calls) {
        this.calls = calls;
    }

    public void open(long parentId, long parentDeadlineNs) {
        parent = parentId;
        deadlineNs = parentDeadlineNs;
    }

    /** Returns the id of the request; {@link MessageId#NONE} when its handler has returned. */
    public long id() {
        return parent;
    }

    @Override
    public long deadlineNs() {
        return deadlineNs;
    }

    public void close() {
        parent = MessageId.NONE;
    }

    @Override
    public Response call(Request request) {
        return calls.call(request, parent(), deadlineNs);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        return calls.callAsync(request, parent(), deadlineNs);
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        return calls.send(request, listener, parent(), deadlineNs);
    }

    @Override
    public long parent() {
        long id = parent;
        if (id == MessageId.NONE) {
            throw new IllegalStateException("the outbox is dead: its handler has returned");
        }
        return id;
    }
}
