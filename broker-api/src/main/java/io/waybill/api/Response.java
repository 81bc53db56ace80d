package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The response to a request.
 *
 * <p><b>Ownership.</b> From a blocking call or a future it is the receiver's, who closes it to release its tensors and its remote
 * references; without these closing does nothing. In a {@link ResponseListener} it is the broker's and dies when the callback returns.
 * A reference lives on when one more handle of it was {@linkplain RRef#retain taken}.
 *
 * <p>The getters of fields throw {@link CallException} with {@link ErrorCode#MALFORMED_BODY}.
 */
@ProviderType
public interface Response extends AutoCloseable {

    MessageType type();

    /** The id of the request, which is the response's too. */
    long id();

    /** The worker id of who answered. */
    int from();

    /** The payload as it travelled, read-only. */
    ByteBuffer payload();

    /** The tensors that travelled with it, read-only. */
    List<Tensor> tensors();

    /** The payload as one value. */
    Value value();

    /** The named field of a payload with named fields. */
    Value value(String name);

    String text(String name);

    long int64(String name);

    /** An int counts as a float. */
    double float64(String name);

    boolean bool(String name);

    Tensor tensor(String name);

    /** Releases the tensors and the references. May be called more than once. */
    @Override
    void close();

    /**
     * Gathers answers, as {@code torch.futures.wait_all} does. The future has all of them, in order, once all are there; it fails as soon
     * as one of them fails, without waiting for the others. When it fails or is cancelled, the other responses are closed, whether they are
     * there or still come.
     *
     * @param responses futures of calls, each once; no other caller takes their responses
     */
    static CompletableFuture<List<Response>> all(List<CompletableFuture<Response>> responses) {
        return GatheredResponses.of(responses);
    }
}
