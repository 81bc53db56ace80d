package io.waybill.handling;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Request that interceptors keep to repeat it, with its last failed attempt.
 *
 * <p><b>Threads.</b> Belongs to the thread that the call belongs to. <b>Ownership.</b> From {@link #copy} to
 * {@link #release} it has a count of the storage of each tensor, and a handle of each reference.
 */
final class KeptRequest implements FailedAttempt {

    private static final long NONE = -1;
    private static final long MIN_DELAY_NS = 1_000_000;

    private final CallHooks call;
    private final boolean[] keepers; // set of the interceptors that keep it
    private Request request; // null until it is copied
    private List<Tensor> tensors = List.of();
    private List<RRef> references = List.of();
    private int number;
    private CallException failure; // null outside of the interceptors
    private long leftNs;
    private long delayNs = NONE;

    KeptRequest(CallHooks call, int interceptors) {
        this.call = call;
        this.keepers = new boolean[interceptors];
    }

    void keptBy(int interceptor) {
        keepers[interceptor] = true;
    }

    boolean isKeptBy(int interceptor) {
        return keepers[interceptor];
    }

    /**
     * Copies the request that is sent.
     *
     * @throws RuntimeException when a tensor or reference can't be retained; nothing was retained then
     */
    void copy(Request sent) {
        List<Tensor> retained = new ArrayList<>(sent.tensors().size());
        try {
            for (Tensor tensor : sent.tensors()) {
                Storage storage = tensor.storage();
                storage.retain();
                retained.add(tensor);
            }
            references = PassedObjects.handlesOf(sent.references());
        } catch (RuntimeException | Error e) {
            PassedObjects.release(retained, List.of());
            throw e;
        }
        tensors = List.copyOf(retained);
        request = Request.raw(
                sent.to(),
                sent.type(),
                ByteBuffer.wrap(sent.payloadArray(), 0, sent.payloadLength()),
                tensors,
                references);
    }

    boolean isCopied() {
        return request != null;
    }

    /** Releases the counts and handles that {@link #copy} acquired. Does not throw. */
    void release() {
        PassedObjects.release(tensors, references);
        tensors = List.of();
        references = List.of();
        request = null;
    }

    /** Begins to ask interceptors about a failed attempt. */
    void failed(CallException why, long callLeftNs) {
        number++;
        failure = why;
        leftNs = callLeftNs;
        delayNs = NONE;
    }

    /** Returns whether an interceptor repeats the request. */
    boolean isRepeated() {
        return delayNs != NONE;
    }

    /** Forgets that an interceptor repeats the request. */
    void notRepeated() {
        delayNs = NONE;
    }

    /** Ends {@link #failed}. Returns the nanoseconds until the request is repeated; negative when it is not. */
    long decided() {
        failure = null;
        return delayNs;
    }

    /** Returns the request for another attempt, with the rest of the call's time as its timeout. */
    Request again(Duration timeout) {
        return request.timeout(timeout);
    }

    @Override
    public CallException failure() {
        call.requireInside();
        return failure;
    }

    @Override
    public int number() {
        call.requireInside();
        return number;
    }

    @Override
    public boolean repeat(Duration delay) {
        call.requireInside();
        if (failure == null) {
            throw new IllegalStateException("an attempt is repeated from onAttemptFailed alone");
        }
        long limitNs = Math.max(MIN_DELAY_NS, leftNs);
        long wantedNs = delay.compareTo(Duration.ofNanos(limitNs)) >= 0
                ? limitNs
                : Math.max(MIN_DELAY_NS, delay.isNegative() ? 0 : delay.toNanos());
        if (number >= MAX_ATTEMPTS || wantedNs >= leftNs) {
            return false;
        }
        delayNs = wantedNs;
        return true;
    }

    @Override
    public String to() {
        return call.to();
    }

    @Override
    public MessageType calledType() {
        return call.calledType();
    }

    @Override
    public long parentId() {
        return call.parentId();
    }

    @Override
    public CallContext context() {
        return call.context();
    }

    @Override
    public Object attachment() {
        return call.attachment();
    }
}
