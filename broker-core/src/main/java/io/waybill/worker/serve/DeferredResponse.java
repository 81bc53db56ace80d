package io.waybill.worker.serve;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.worker.poll.DeferredOutcome;
import io.waybill.worker.reference.StoredValue;
import io.waybill.worker.reference.ValueResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A response that is sent after its handler returned. Not pooled: a bundle may keep it indefinitely.
 *
 * <p><b>Threads.</b> Any; only the first response counts.
 */
final class DeferredResponse implements ValueResponse, DeferredOutcome {

    private final Exchange request;
    private final ResponseWriter responses;
    // Set by the handler's thread and by the responding one; the second of the two ends the request.
    private final AtomicBoolean first = new AtomicBoolean();
    private final AtomicBoolean given = new AtomicBoolean();
    private final ResponseBody body;
    private Failure failure; // null when the body is the response
    private boolean dropped; // set before first, read after it: the handler threw, and that is the request's outcome

    DeferredResponse(Exchange request, ResponseWriter responses, Consumer<? super Throwable> onFailure) {
        this.request = request;
        this.responses = responses;
        this.body = new ResponseBody(onFailure);
    }

    void handlerReturned() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    @Override
    public boolean isAwaited() {
        return first.get() && !given.get();
    }

    @Override
    public boolean isGiven() {
        return given.get();
    }

    /** Ends the request after its handler threw: earlier and later responses are dropped. */
    void handlerThrew() {
        dropped = true;
        handlerReturned();
    }

    private void give() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    private void deliver() {
        try {
            if (!dropped) {
                request.completeLate(body, failure);
            }
        } finally {
            body.reset();
        }
    }

    private boolean begin() {
        return given.compareAndSet(false, true);
    }

    @Override
    public Body body() {
        return body.fields();
    }

    @Override
    public void send() {
        if (begin()) {
            if (body.isEmpty()) {
                failure = Failure.emptyLateResponse(responses.workerId());
            }
            give();
        }
    }

    @Override
    public void send(Value value) {
        encode(() -> body.value(value));
    }

    @Override
    public void send(StoredValue value) {
        encode(() -> body.stored(value));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        encode(() -> body.raw(payload, tensors));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        encode(() -> body.raw(payload, tensors, references));
    }

    private void encode(Runnable content) {
        if (begin()) {
            try {
                content.run();
            } catch (RuntimeException | Error e) { // another response may be given
                body.reset();
                given.set(false);
                throw e;
            }
            give();
        }
    }

    @Override
    public void fail(ErrorCode code, String text) {
        if (begin()) {
            failure = Failure.late(code, text);
            give();
        }
    }
}
