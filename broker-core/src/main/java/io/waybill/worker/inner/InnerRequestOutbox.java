package io.waybill.worker.inner;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.handling.InnerOutbox;
import io.waybill.handling.OutgoingResponse;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Outbox of the handler of an inner message, which may contain messages in turn. Pooled with the {@link InnerRequest}.
 *
 * <p><b>Threads.</b> Belongs to the thread of the handler while it runs.
 */
final class InnerRequestOutbox extends InnerOutbox implements EnclosingRequest {

    private final InnerRequest request;
    private final InnerRequests home;
    private final DispatchedCount dispatched = new DispatchedCount();

    InnerRequestOutbox(InnerRequest request, InnerRequests home, OutgoingResponse response) {
        super(response);
        this.request = request;
        this.home = home;
    }

    // ---- Outbox

    @Override
    protected Outbox outer() {
        return request.outer().outbox();
    }

    @Override
    protected void requireInHandler() {
        request.requireInHandler();
    }

    @Override
    public boolean isDeferred() {
        return request.deferred() != null;
    }

    @Override
    public LateResponse later() {
        requireInHandler();
        return request.defer();
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        requireInHandler();
        return home.dispatch(this, type, payload, tensors, references);
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        requireInHandler();
        return home.dispatchAsync(this, type, payload, tensors, references);
    }

    // ---- EnclosingRequest

    @Override
    public RecordView view() {
        return request.view();
    }

    @Override
    public HandlerEntry entry() {
        return request.entry();
    }

    @Override
    public Outbox outbox() {
        return this;
    }

    @Override
    public String senderName() {
        return request.outer().senderName();
    }

    @Override
    public boolean isFromSelf() {
        return request.outer().isFromSelf();
    }

    @Override
    public Delivered delivered() {
        return request.outer().delivered();
    }

    @Override
    public long leftNs(long deadlineNs) {
        return request.outer().leftNs(deadlineNs);
    }

    @Override
    public InnerCreation takeCreation() {
        return request.outer().takeCreation();
    }

    @Override
    public int depth() {
        return request.outer().depth() + 1;
    }

    @Override
    public String path() {
        return request.outer().path() + " > " + view().type();
    }

    @Override
    public DispatchedCount dispatched() {
        return dispatched;
    }
}
