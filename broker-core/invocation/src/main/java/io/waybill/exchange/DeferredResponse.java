package io.waybill.exchange;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Response that is given after its handler returned. Not pooled: a bundle may keep it indefinitely.
 *
 * <p><b>Threads.</b> Any; only the first response counts. A later one is dropped, and its tensors are released.
 */
public final class DeferredResponse implements LateResponse {

    private final Exchange exchange;
    private final long number; // number of the request, whose object may be reused
    private final int workerId;
    // Set by the handler's thread and by the responding one; the second of the two ends the request.
    private final AtomicBoolean first = new AtomicBoolean();
    private final AtomicBoolean given = new AtomicBoolean();
    private final OutgoingResponse content;
    private OutgoingResponse tooLate; // guarded by this; fields set after the response was given; null for none
    private Failure failure; // null when the content is the response
    private boolean dropped; // set before first, read after it: the handler threw, and that is the request's outcome

    /**
     * Creates a response that is not given yet.
     *
     * @param number of the request
     * @param content empty; belongs to this object
     */
    DeferredResponse(Exchange exchange, long number, OutgoingResponse content, int workerId) {
        this.exchange = exchange;
        this.number = number;
        this.content = content;
        this.workerId = workerId;
    }

    /** Notes that the handler has returned: the calling thread delivers a response that was given before. */
    void handlerReturned() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    /** Ends the request after its handler threw: earlier and later responses are dropped. */
    void handlerThrew() {
        dropped = true;
        handlerReturned();
    }

    /** Returns whether the handler has returned without a response so far. */
    public boolean isAwaited() {
        return first.get() && !given.get();
    }

    /** Returns whether the response was given, before or after the deadline of its request. */
    public boolean isGiven() {
        return given.get();
    }

    /**
     * Returns a supplier of whether the response was given, usable also after this object is unreachable. It refers to
     * nothing of the bundle.
     */
    public BooleanSupplier given() {
        return given::get;
    }

    private void deliver() {
        try {
            if (!dropped) {
                exchange.endLate(number, content, failure);
            }
        } finally {
            content.reset();
        }
    }

    private void give(Consumer<OutgoingResponse> response) {
        if (!given.compareAndSet(false, true)) {
            drop(response);
            return;
        }
        try {
            response.accept(content);
        } catch (RuntimeException | Error e) { // content that failed to encode was no response: another may be given
            content.reset();
            given.set(false);
            throw e;
        }
        handlerReturned(); // or the response came: the second of the two delivers
    }

    private void fails(Function<OutgoingResponse, Failure> why) {
        give(response -> {
            Failure failed = why.apply(response);
            if (response == content) {
                failure = failed;
            }
        });
    }

    /** Discards a response that was given later: the content is being delivered, and nothing may change it. */
    private synchronized void drop(Consumer<OutgoingResponse> response) {
        OutgoingResponse second = tooLate == null ? content.another() : tooLate;
        tooLate = null;
        try {
            response.accept(second);
        } finally {
            second.reset();
        }
    }

    private synchronized Body fieldsTooLate() {
        if (tooLate == null) {
            tooLate = content.another();
        }
        return tooLate.fields();
    }

    @Override
    public Body body() {
        return given.get() ? fieldsTooLate() : content.fields();
    }

    @Override
    public void send() {
        fails(response -> response.isEmpty() ? Failure.emptyLateResponse(workerId) : null);
    }

    @Override
    public void send(Value value) {
        give(response -> response.value(value));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        give(response -> response.raw(payload, tensors));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        give(response -> response.rawWith(payload, tensors, references));
    }

    /**
     * Sends the response that the consumer fills.
     *
     * @throws RuntimeException thrown by the consumer; no response was sent then
     */
    public void send(Consumer<OutgoingResponse> response) {
        give(response);
    }

    @Override
    public void fail(ErrorCode code, String text) {
        fails(response -> Failure.late(code, text));
    }

    @Override
    public void fail(ErrorCode code, String text, Throwable cause) {
        Failure failure = Failure.late(code, text, cause);
        fails(response -> failure);
    }
}
