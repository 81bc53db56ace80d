package io.waybill.worker.reference;

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
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A late response that can contain a value that this worker owns. Not pooled: a bundle may keep it indefinitely.
 *
 * <p><b>Threads.</b> Any; only the first response counts. What comes later is dropped, and its tensors are released.
 */
public abstract class ValueResponse implements LateResponse {

    private final int workerId;
    // Set by the handler's thread and by the responding one; the second of the two ends the request.
    private final AtomicBoolean first = new AtomicBoolean();
    private final AtomicBoolean given = new AtomicBoolean();
    private final OutgoingResponse content;
    private OutgoingResponse tooLate; // guarded by this; fields after the response was given; null for none
    private Failure failure; // null when the content is the response
    private boolean dropped; // set before first, read after it: the handler threw, and that is the request's outcome

    /**
     * Creates one that is not given yet.
     *
     * @param content empty; belongs to this object
     */
    protected ValueResponse(OutgoingResponse content, int workerId) {
        this.content = content;
        this.workerId = workerId;
    }

    /**
     * Ends the request, once. The content is reset afterwards.
     *
     * @param failed null when the content is the response
     */
    protected abstract void complete(Failure failed);

    /** Notes that the handler has returned: a response that was given before is delivered by its thread. */
    public final void handlerReturned() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    /** Ends the request after its handler threw: earlier and later responses are dropped. */
    public final void handlerThrew() {
        dropped = true;
        handlerReturned();
    }

    /** Returns whether the handler has returned and the response has not been given. */
    public final boolean isAwaited() {
        return first.get() && !given.get();
    }

    /** Returns whether the response was given, before or after the deadline of its request. */
    public final boolean isGiven() {
        return given.get();
    }

    private void deliver() {
        try {
            if (!dropped) {
                complete(failure);
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
        } catch (RuntimeException | Error e) { // what failed to encode was no response: another may be given
            content.reset();
            given.set(false);
            throw e;
        }
        handlerReturned(); // or the response came: whichever is second delivers
    }

    private void fails(Function<OutgoingResponse, Failure> why) {
        give(response -> {
            Failure failed = why.apply(response);
            if (response == content) {
                failure = failed;
            }
        });
    }

    /** The content is being delivered: nothing may change it. */
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
    public final Body body() {
        return given.get() ? fieldsTooLate() : content.fields();
    }

    @Override
    public final void send() {
        fails(response -> response.isEmpty() ? Failure.emptyLateResponse(workerId) : null);
    }

    @Override
    public final void send(Value value) {
        give(response -> response.value(value));
    }

    @Override
    public final void send(ByteBuffer payload, List<Tensor> tensors) {
        give(response -> response.raw(payload, tensors));
    }

    @Override
    public final void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        give(response -> response.rawWith(payload, tensors, references));
    }

    /**
     * Sends the value, which must stay open until this method returns.
     *
     * @throws io.waybill.api.CallException when a reference in the value has failed; no response was sent
     */
    public final void send(StoredValue value) {
        give(value::putInto);
    }

    @Override
    public final void fail(ErrorCode code, String text) {
        fails(response -> Failure.late(code, text));
    }

    @Override
    public final void fail(ErrorCode code, String text, Throwable cause) {
        Failure failure = Failure.late(code, text, cause);
        fails(response -> failure);
    }
}
