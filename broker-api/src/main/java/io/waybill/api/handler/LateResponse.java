package io.waybill.api.handler;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A response that comes after the handler returned. Exactly one of the {@code send} and {@code fail} methods takes effect: the first.
 *
 * <p><b>Threads.</b> One at a time, any thread. A tensor given here brings one count of its
 * storage along, which the broker gives back.
 */
@ProviderType
public interface LateResponse {

    /** Starts a response with named fields; {@link #send()} ends it. */
    Body body();

    /** Sends what {@link #body()} holds. */
    void send();

    void send(Value value);

    void send(ByteBuffer payload, List<Tensor> tensors);

    /** Answers with an error. */
    void fail(ErrorCode code, String text);
}
