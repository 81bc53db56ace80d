package io.waybill.api.intercept;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/** Request that is about to be sent, as wrapped by the interceptors before this one. */
@ProviderType
public interface OutgoingCall extends InterceptedCall {

    /** Returns the current type of the request. */
    MessageType type();

    /**
     * Returns the name of the operation or function that the program calls, regardless of wrapping; the name of the
     * type for all other requests.
     */
    String operation();

    /**
     * Returns whether the calling thread waits for the outcome: true for {@code Caller.call(request)},
     * {@code Rpc.rpcSync}, and reading a reference.
     */
    boolean isAwaited();

    /** Returns the current payload, read-only. */
    ByteBuffer payload();

    /** Returns the current tensors, read-only. Their owner is the program, or the interceptor that added them. */
    List<Tensor> tensors();

    /** Returns the current remote references, read-only, in the order of their indices in the payload. */
    List<RRef> references();

    /**
     * Attaches an object to the call for {@link CallInterceptor#onResponse} or {@link CallInterceptor#onFailure}. The
     * broker drops the object with the call's outcome.
     */
    void attach(Object attachment);

    /**
     * Keeps the request in the form in which it is sent, so that {@link CallInterceptor#onAttemptFailed} can repeat it.
     * Until the call's outcome the broker holds a copy of the payload, a count of the storage of each tensor, and a
     * handle of each reference: the elements of the tensors must not change during this time. Has no effect on a
     * request that creates a remote value.
     */
    void keep();

    /**
     * Replaces the receiver. Its name is resolved when the request is written, so that a call to a name of no worker
     * can be redirected; repeated attempts go to the same receiver.
     *
     * @param worker a name, an address or an id in decimal, as in {@code Request.operation}
     * @throws IllegalStateException if the request creates or fetches a remote value, whose owner it names
     */
    void redirect(String worker);

    /** Replaces the context that the call carries. The program's listeners keep the context of the program. */
    void context(CallContext context);

    /**
     * Replaces type and payload, and keeps the tensors and references.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException if the type is not that of a request
     */
    void wrap(MessageType type, ByteBuffer payload);

    /**
     * Replaces the request.
     *
     * <p><b>Ownership.</b> Each tensor transfers one count of its storage to the broker, which releases it after the
     * request was sent or dropped: retain the storage of a tensor of {@link #tensors()} before passing it on. The
     * broker takes its own handle of each reference; the interceptor may close its handle. If this method throws,
     * nothing was transferred.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException if the type is not that of a request
     */
    void wrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);
}
