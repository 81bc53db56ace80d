package io.waybill.replay.run;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A response that comes after its handler returned. A bundle may keep it indefinitely.
 *
 * <p><b>Threads.</b> Any; the first response counts.
 */
final class ReplayedLateResponse implements LateResponse {

    private final int worker;
    private final OutgoingResponse response = new OutgoingResponse();
    private final AtomicBoolean given = new AtomicBoolean();
    private final CountDownLatch arrived = new CountDownLatch(1);
    private Failure failure; // written before it arrived

    ReplayedLateResponse(int worker) {
        this.worker = worker;
    }

    /**
     * Waits until it arrived; what comes later is dropped.
     *
     * @param limit zero for none
     * @return whether it arrived; false when the thread was interrupted, too
     */
    boolean await(Duration limit) {
        try {
            if (!limit.isZero() && !arrived.await(limit.toNanos(), TimeUnit.NANOSECONDS) && begin()) {
                return false;
            }
            arrived.await(); // there is no limit, or it is being given just now
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Good once it arrived. */
    OutgoingResponse response() {
        return response;
    }

    /** Empty when the response is the response. Good once it arrived. */
    Optional<Failure> failure() {
        return Optional.ofNullable(failure);
    }

    /** Gives back the tensors of a response that arrived. */
    void release() {
        if (arrived.getCount() == 0) {
            response.reset();
        }
    }

    private boolean begin() {
        return given.compareAndSet(false, true);
    }

    private void give(Runnable content) {
        if (!begin()) {
            return;
        }
        try {
            content.run();
        } catch (RuntimeException | Error e) { // what can't be put into a response was none: another may be given
            response.reset();
            given.set(false);
            throw e;
        }
        arrived.countDown();
    }

    @Override
    public Body body() {
        return response.fields();
    }

    @Override
    public void send() {
        give(() -> failure = response.isEmpty() ? Failure.emptyLateResponse(worker) : null);
    }

    @Override
    public void send(Value value) {
        give(() -> response.value(value));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        give(() -> response.raw(payload, tensors));
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        give(() -> response.rawWith(payload, tensors, references));
    }

    @Override
    public void fail(ErrorCode code, String text) {
        give(() -> failure = Failure.late(code, text));
    }

    @Override
    public void fail(ErrorCode code, String text, Throwable cause) {
        Failure late = Failure.late(code, text, cause);
        give(() -> failure = late);
    }
}
