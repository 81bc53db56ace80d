package io.waybill.api.handler;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Response that a handler sends after it has returned. Only the first call of a {@code send} or {@code fail} method has
 * an effect.
 *
 * <p><b>Threads.</b> Any, one at a time. A tensor that is passed here transfers one count of its storage to the broker,
 * which releases it.
 */
@ProviderType
public interface LateResponse {

    /** Starts a response with named fields; {@link #send()} completes it. */
    Body body();

    /** Sends the fields of {@link #body()}. */
    void send();

    void send(Value value);

    void send(ByteBuffer payload, List<Tensor> tensors);

    /** Sends raw bytes, tensors and remote references. The response gets its own handle of each reference. */
    void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);

    /** Responds with an error. */
    void fail(ErrorCode code, String text);

    /**
     * Responds with an error caused by another failure. If the cause chain contains a failed call, the caller finds
     * that call's code and id in {@link io.waybill.api.CallException#rootCode()}.
     */
    default void fail(ErrorCode code, String text, Throwable cause) {
        fail(code, text);
    }
}
