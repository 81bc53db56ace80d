package io.waybill.api.handler;

import io.waybill.api.Body;
import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Sender of a handler's response. A handler gives one response: with {@code respond} or {@code response}, or with
 * {@link #later()}. The broker journals the content when the handler returns, and drops it when the handler throws.
 *
 * <p><b>Tensors.</b> A tensor that is passed here transfers one count of its storage to the broker, which releases it
 * once the response is sent or dropped: retain the storage of a tensor of the message before responding with it.
 *
 * <p><b>References.</b> The response gets its own handle of each remote reference that is passed here; the handler may
 * close its handle.
 *
 * <p><b>Lifetime.</b> Invalid after {@link MessageHandler#handle} returns, apart from the result of {@link #later()}.
 * <b>Threads.</b> Only the handler's: a response from another thread, or after the handler returned, throws
 * {@link IllegalStateException}.
 */
@ProviderType
public interface Outbox {

    /** Max nesting of messages inside a message. */
    int MAX_DEPTH = 8;

    /** Responds with named fields, which the handler writes before it returns. */
    Body response();

    /** Responds with one value. */
    void respond(Value value);

    /** Responds with raw bytes: the buffer's remaining bytes, copied at once. */
    void respond(ByteBuffer payload);

    /** Responds with raw bytes and tensors. The tensors' elements must not change until the handler returns. */
    void respond(ByteBuffer payload, List<Tensor> tensors);

    /** Responds with raw bytes, tensors and remote references, in the order of their indices in the payload. */
    void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);

    /**
     * Passes a message that was inside this one to the handler of its type or operation, and waits for the response.
     * The inner message has this message's id, sender and deadline, and has no record of its own.
     *
     * <p>Access policies and interceptors apply to it as to any request. Its handler runs on the threads of its own
     * bundle, or on this thread if it is non-blocking. While its handler is replaced, this method waits. In a replay
     * its handler runs again. Nested calls, clock readings and random numbers of its handler are recorded with the
     * outer request.
     *
     * <p><b>Ownership.</b> Takes its own counts of the tensors' storages and handles of the references while it needs
     * them; the caller keeps its own. The caller closes the response.
     *
     * @param type a request type, other than the broker's own control messages
     * @throws CallException failure of the inner message: an error of its handler, this message's deadline, or a
     *     nesting of more than {@value #MAX_DEPTH} messages. If the handler does not catch it, the outer message fails
     *     in the same way
     * @throws IllegalStateException on another thread than the handler's, or in a {@link NonBlocking} handler if the
     *     inner one blocks
     */
    Response dispatch(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);

    /**
     * Passes a message that was inside this one to its handler, like {@link #dispatch}, and does not wait. Used with
     * {@link #later()} by handlers that must not block.
     *
     * @return a future that fails with a {@link CallException}; it completes on this thread or a thread of this
     *     handler's bundle. The receiver closes the response
     * @throws IllegalStateException on another thread than the handler's
     */
    CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);

    /** Defers the response. The handler must complete it later; if it does not, the caller times out. */
    LateResponse later();

    /**
     * Returns a caller of other workers. Its calls have this message's id as their parent, and end at this message's
     * deadline if that is earlier.
     */
    Caller caller();

    /**
     * Returns calls of operators and functions, and remote references, bound to this message like the calls of
     * {@link #caller()}. The handler closes the references that it creates here; they may outlive it.
     * {@link Rpc#shutdown} is reserved for the program that joined the worker.
     */
    Rpc rpc();

    /** Returns an allocator of memory from which results are sent without a copy. */
    TensorBuffers buffers();

    /**
     * Returns the wall clock. Readings are recorded with the response, so a replay can return the same ones: the first
     * 1,024 readings of a request, including those of {@link #random()}. Any thread may read the clock until the
     * response is sent; afterwards it throws {@link IllegalStateException}.
     */
    InstantSource clock();

    /**
     * Returns the times at which the request passed the stages before its handler; for an inner message, those of the
     * outer request. Recorded with the response, so a replay can return the same times. Any thread may call this until
     * the response is sent; afterwards it throws {@link IllegalStateException}.
     */
    RequestArrival arrival();

    /**
     * Returns a random number generator whose numbers a replay reproduces: one {@link java.util.Random} per request,
     * whose seed is recorded with the response. Any thread may draw numbers, but a replay can't reproduce the order of
     * draws of several threads. Not for secrets: a reader of the journal can compute the numbers.
     */
    RandomGenerator random();
}
