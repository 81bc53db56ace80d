package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The response to a request.
 *
 * <p><b>Ownership.</b> The receiver of a response from a blocking call or a future closes it, which releases its
 * tensors and remote references; without any, closing has no effect. In a {@link ResponseListener} the broker owns it,
 * and it is invalid after the callback returns. To use a reference longer, {@linkplain RRef#retain retain} it.
 *
 * <p><b>Errors.</b> The getters of fields throw {@link CallException} with {@link ErrorCode#MALFORMED_BODY} when the
 * field is missing or of another kind. The first getter checks the whole payload and throws on a fault anywhere in it.
 */
@ProviderType
public interface Response extends AutoCloseable {

    MessageType type();

    /** Returns the id of the request, which is also the id of the response. */
    long id();

    /** Returns the id of the worker that responded. */
    int from();

    /**
     * Returns the payload as it was sent, read-only, from position 0, big-endian. May be the same buffer on each call,
     * with its position, limit and order reset.
     */
    ByteBuffer payload();

    /** Returns the tensors of the message, read-only. */
    List<Tensor> tensors();

    /** Returns the remote references of the message, in the order of their indices in the payload. */
    List<? extends RRef> references();

    /** Returns the payload as one value. */
    Value value();

    /** Returns the named field of a payload with named fields. */
    Value value(String name);

    String text(String name);

    long int64(String name);

    /** Returns the named field as a float; an int is converted. */
    double float64(String name);

    boolean bool(String name);

    /** Returns a copy of the bytes of the named field. */
    byte[] bytes(String name);

    Tensor tensor(String name);

    /** Releases the tensors and the references. Idempotent. */
    @Override
    void close();

    /**
     * Combines the responses of several calls in one future, as {@code torch.futures.wait_all} does. The future
     * completes with all responses, in order, once all have arrived; it fails as soon as one call fails, without
     * waiting for the others. When it fails or is cancelled, the other responses are closed, including those that
     * arrive later.
     *
     * @param responses distinct futures of calls, whose responses no other code uses
     */
    static CompletableFuture<List<Response>> all(List<CompletableFuture<Response>> responses) {
        return GatheredResponses.of(responses);
    }

    /**
     * Returns the fields, or a value that is a dict, as a record, by {@link RecordCodec}. Its tensors and references are
     * those of the response.
     *
     * @throws CallException with {@link ErrorCode#MALFORMED_BODY} if a field is missing or of another kind, or the record
     *     refuses them
     */
    default <T extends Record> T record(Class<T> type) {
        try {
            return RecordCodec.decode(value(), type);
        } catch (IllegalArgumentException e) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.MALFORMED_BODY,
                    id(),
                    "worker " + from() + " responded with something else: " + e.getMessage(),
                    e);
        }
    }
}
