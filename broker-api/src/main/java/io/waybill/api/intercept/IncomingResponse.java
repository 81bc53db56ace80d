package io.waybill.api.intercept;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/** Response to an intercepted call before the program receives it, as unwrapped by the interceptors before this one. */
@ProviderType
public interface IncomingResponse extends InterceptedCall {

    /** Returns the response in its current form. The broker owns it; closing it has no effect. */
    Response response();

    /** Returns the current remote references, read-only, in the order of their indices in the payload. */
    List<RRef> references();

    /**
     * Replaces type and payload, and keeps the tensors and references.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException if the type is not that of a response
     */
    void unwrap(MessageType type, ByteBuffer payload);

    /**
     * Replaces the response.
     *
     * <p><b>Ownership.</b> Each tensor transfers one count of its storage to the broker, which releases it after the
     * program has released the response: retain the storage of a tensor of the response before passing it on. The
     * broker takes its own handle of each reference. If this method throws, nothing was transferred.
     *
     * @param payload the buffer's remaining bytes, copied at once
     * @throws IllegalArgumentException if the type is not that of a response
     */
    void unwrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);
}
