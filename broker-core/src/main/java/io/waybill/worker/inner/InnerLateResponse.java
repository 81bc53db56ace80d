package io.waybill.worker.inner;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.worker.poll.DeferredOutcome;
import io.waybill.worker.reference.StoredValue;
import io.waybill.worker.reference.ValueResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Response to an inner message that is given after its handler returned. Not pooled: a bundle may keep it indefinitely.
 *
 * <p><b>Threads.</b> Any; only the first response counts.
 */
final class InnerLateResponse implements ValueResponse, DeferredOutcome {

    private final InnerRequest request;
    private final long number; // of the request, whose object may be reused
    private final int workerId;
    // Set by the handler's thread and by the responding one; the second of the two ends the request.
    private final AtomicBoolean first = new AtomicBoolean();
    private final AtomicBoolean given = new AtomicBoolean();
    private final OutgoingResponse body = new OutgoingResponse();
    private Failure failure; // null when the body is the response
    private boolean dropped; // set before first, read after it: the handler threw, and that is the outcome

    InnerLateResponse(InnerRequest request, long number, int workerId) {
        this.request = request;
        this.number = number;
        this.workerId = workerId;
    }

    void handlerReturned() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    /** Drops earlier and later responses, after the handler threw. */
    void handlerThrew() {
        dropped = true;
        handlerReturned();
    }

    @Override
    public boolean isAwaited() {
        return first.get() && !given.get();
    }

    @Override
    public boolean isGiven() {
        return given.get();
    }

    private void deliver() {
        try {
            if (!dropped) {
                request.completeLate(number, body, failure);
            }
        } finally {
            body.reset();
        }
    }

    private void give(Runnable content) {
        if (!given.compareAndSet(false, true)) {
            return;
        }
        try {
            content.run();
        } catch (RuntimeException | Error e) { // what failed to encode was no response: another may be given
            body.reset();
            given.set(false);
            throw e;
        }
        handlerReturned(); // or the response came: whichever is second delivers
    }

    @Override
    public Body body() {
        return body.fields();
    }

    @Override
    public void send() {
        give(() -> failure = body.isEmpty() ? Failure.emptyLateResponse(workerId) : null);
    }

    @Override
    public void send(Value value) {
        give(() -> body.value(value));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        give(() -> body.raw(payload, tensors));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        give(() -> body.rawWith(payload, tensors, references));
    }

    @Override
    public void send(StoredValue value) {
        give(() -> value.putInto(body));
    }

    @Override
    public void fail(ErrorCode code, String text) {
        give(() -> failure = Failure.late(code, text));
    }
}
