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
 * Sender of a handler's response. A handler gives one response: by {@code respond} or {@code response}, or by
 * {@link #later()}. The content is journalled when the handler returns, and dropped when it throws.
 *
 * <p><b>Tensors.</b> A tensor that is passed here transfers one count of its storage to the broker, which releases it
 * once the response is sent or dropped: retain the storage of a tensor of the message before responding with it.
 *
 * <p><b>References.</b> The response takes a handle of its own of each remote reference that is passed here; the
 * handler may close its handle.
 *
 * <p><b>Lifetime.</b> Invalid after {@link MessageHandler#handle} returns, apart from the result of {@link #later()}.
 * <b>Threads.</b> The handler's only: a response from another thread, or after the handler returned, throws
 * {@link IllegalStateException}.
 */
@ProviderType
public interface Outbox {

    /** Max number of messages inside each other in one message. */
    int MAX_DEPTH = 8;

    /** Responds with named fields, to be filled before the handler returns. */
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
     * Hands a message that was inside this one to the handler of its type or operation, and waits for the response. The inner
     * message has this message's id, sender and deadline, and is not on record by itself.
     *
     * <p>Access policies and interceptors see it as any request. Its handler runs on the threads of its own bundle, or on this
     * thread if it is non-blocking. While its handler is replaced, this waits as a request would. In a replay its handler runs
     * again. What it does through its outbox counts as done by this handler: nested calls, readings of the clock, random numbers.
     *
     * <p><b>Ownership.</b> Takes counts of the tensors' storages and handles of the references for as long as it needs them, so
     * the caller keeps its own. The caller closes the response.
     *
     * @param type of a request, other than the broker's own control messages
     * @throws CallException the failure of the inner message: an error of its handler, this message's deadline, or more than
     * {@value #MAX_DEPTH} messages in each other. If the handler does not catch it, the outer message fails in the same way
     * @throws IllegalStateException on another thread than the handler's, or in a {@link NonBlocking} handler if the inner one
     * blocks
     */
    Response dispatch(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);

    /**
     * Hands a message that was inside this one to its handler, as {@link #dispatch} does, and does not wait. Together with
     * {@link #later()}, for handlers that must not block.
     *
     * @return fails with a {@link CallException}; completed on this thread or a thread of this handler's bundle. The receiver
     * closes the response
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
     * Returns calls of operators and functions, and remote references, bound to this message as those of
     * {@link #caller()} are. The handler closes the references that it gets here; they may outlive it.
     * {@link Rpc#shutdown} is reserved for the program that joined the worker.
     */
    Rpc rpc();

    /** Returns an allocator of memory from which results are sent without a copy. */
    TensorBuffers buffers();

    /**
     * Returns the wall clock. Readings are recorded with the response, so that a replay can return the same ones: the
     * first 1,024 readings of a request, including those of {@link #random()}. Any thread may read until the response
     * is sent; afterwards it throws {@link IllegalStateException}.
     */
    InstantSource clock();

    /**
     * Returns when the request passed the stages before its handler; of a message inside another one, when the outer request did. Recorded with the response, so
     * that a replay can return the same. Any thread may ask until the response is sent; afterwards it throws {@link IllegalStateException}.
     */
    RequestArrival arrival();

    /**
     * Returns a random number generator whose numbers a replay reproduces: one {@link java.util.Random} per request,
     * whose seed is recorded with the response. Any thread may draw, but a replay can't reproduce the order in which
     * several threads did. Not for secrets: a reader of the journal can compute the numbers.
     */
    RandomGenerator random();
}
