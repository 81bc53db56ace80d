package io.waybill.api.handler;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;
import org.osgi.annotation.versioning.ProviderType;

/**
 * What a handler answers through. It gives one response: by {@code reply}, or by {@link #later()}. What was put here is journalled when
 * the handler returns, and dropped when it throws.
 *
 * <p><b>Tensors.</b> A tensor that is put here brings one count of its storage along, which the broker gives back once the response is
 * sent or dropped: retain the storage of a tensor of the message before answering with it.
 *
 * <p><b>References.</b> The response takes a handle of its own of each remote reference that is put here; the handler's may be closed.
 *
 * <p><b>Lifetime.</b> Dead when {@link MessageHandler#handle} returns, apart from what {@link #later()} gave. <b>Threads.</b> The
 * handler's only: a response from another thread, or behind the handler's return, is an {@link IllegalStateException}.
 */
@ProviderType
public interface Outbox {

    /** Answers with named fields, to be filled before the handler returns. */
    Body response();

    /** Answers with one value. */
    void respond(Value value);

    /** Answers with raw bytes: the buffer's remaining ones, copied at once. */
    void respond(ByteBuffer payload);

    /** Answers with raw bytes and tensors, whose elements must stay as they are until the handler returns. */
    void respond(ByteBuffer payload, List<Tensor> tensors);

    /**
     * Says that the response comes after the handler returned. The handler must see to it that it does come; otherwise the caller's
     * deadline decides.
     */
    LateResponse later();

    /**
     * Calls to other workers. They carry this message's id as their parent, and end at this message's deadline when that is the
     * earlier one.
     */
    Caller caller();

    /**
     * Calls of operators and functions, and remote references, in the same way as {@link #caller()}. The references that it gives are the
     * handler's to close, and may outlive it. {@link Rpc#shutdown} is for the program that joined the worker.
     */
    Rpc rpc();

    /** Memory from which results travel without a copy. */
    TensorBuffers buffers();

    /**
     * The time, by the wall clock. What is read goes on record with the response, so that a replay can show the same: the first 1,024
     * readings of a request, those of {@link #random()} included. Any thread may read until the response is sent; afterwards it throws
     * {@link IllegalStateException}.
     */
    InstantSource clock();

    /**
     * Random numbers, the same ones again in a replay: one {@link java.util.Random} for the request, whose seed goes on record with the
     * answer. Any thread may draw, but a replay can't repeat in which order several of them did. Not for secrets: any reader of the
     * journal knows the numbers.
     */
    RandomGenerator random();
}
