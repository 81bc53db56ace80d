package io.waybill.api.intercept;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/** A request that is about to be sent, as wrapped by the interceptors before this one. */
@ProviderType
public interface OutgoingCall extends InterceptedCall {

    /** Returns the type of the request as it is now. */
    MessageType type();

    /**
     * Returns the operation or function that the program calls by name, before any interceptor wrapped the request; the name of the type
     * for all other requests.
     */
    String operation();

    /** Returns whether the calling thread waits for the outcome: of {@code Caller.call(request)} and {@code Rpc.rpcSync}, and of reading a reference. */
    boolean isAwaited();

    /** Returns the payload as it is now, read-only. */
    ByteBuffer payload();

    /** Returns the tensors as they are now, read-only. Their owner is the program, or the interceptor that put them there. */
    List<Tensor> tensors();

    /** Returns the remote references as they are now, read-only, in the order of their indices in the payload. */
    List<RRef> references();

    /**
     * Keeps an object for {@link CallInterceptor#onResponse} or {@link CallInterceptor#onFailure} of this call. The broker drops it with the
     * call's outcome.
     */
    void attach(Object attachment);

    /**
     * Keeps the request as it will be sent, so that {@link CallInterceptor#onAttemptFailed} can repeat it. Until the call's outcome the broker
     * holds a copy of the payload, a count of the storage of each tensor, and a handle of each reference: the elements of the
     * tensors must not change meanwhile. Has no effect on a request that creates a remote value.
     */
    void keep();

    /** Replaces the context that the call takes along. The program's listeners keep the context of the program. */
    void context(CallContext context);

    /**
     * Replaces type and payload, and keeps the tensors and references.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException when the type is not that of a request
     */
    void wrap(MessageType type, ByteBuffer payload);

    /**
     * Replaces the request.
     *
     * <p><b>Ownership.</b> Each tensor transfers one count of its storage to the broker, which releases it once the request is sent or
     * dropped: retain the storage of a tensor of {@link #tensors()} before it is passed on. Of each reference the broker takes a handle of
     * its own; the interceptor may close its handle. When this method throws, nothing was transferred.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException when the type is not that of a request
     */
    void wrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);
}
