package io.waybill.api;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Handle of a remote reference, which names a value held by one worker, its owner. Corresponds to
 * {@code torch.distributed.rpc.RRef}.
 *
 * <p>A reference can be an argument of a call or part of its response; the receiver gets a handle of its own. A handler
 * starts only after the owners have registered the references among its arguments. The value stays until the last
 * handle of the last worker is closed.
 *
 * <p>A fetch on a handler's thread is a nested call of the handler's request, so it times out at the request's deadline
 * at the latest.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The caller closes a reference that it received from {@link Rpc} or
 * {@link #retain}. The broker owns the handles among the arguments of a request, and closes them with the request; a
 * handle in a response is closed with the {@link Response}.
 *
 * <p><b>Errors.</b> A {@link CallException}: the error of the value's creation; {@link ErrorCode#REFERENCE_DELETED}
 * after the last handle was closed; {@link ErrorCode#OWNER_LOST} if the owner ended and does not rejoin with the value.
 */
@ProviderType
public interface RRef extends AutoCloseable {

    /**
     * Fetches the value from its owner, which may be this worker; waits until it has been created.
     *
     * @param timeout {@link Duration#ZERO} for none
     * @return a copy; the caller closes it
     * @throws IllegalStateException when called on the worker's poller
     */
    Response toHere(Duration timeout);

    /** Fetches the value with the worker's default timeout; see {@link #toHere(Duration)}. */
    Response toHere();

    /**
     * Fetches the value without waiting; see {@link #toHere(Duration)}. The future reports every failure, also that
     * the reference was released.
     */
    CompletableFuture<Response> toHereAsync(Duration timeout);

    /**
     * Returns the value on its owner; waits until it has been created.
     *
     * @return the value; the caller closes it
     * @throws IllegalStateException when this worker is not the owner
     */
    Response localValue();

    /**
     * Writes the value to the owner's disk; waits until it has been created. The value is durable when this method
     * returns, and then outlives the owner's process: when the owner rejoins under its name, the other workers' handles
     * become valid again. The value is removed when no worker has a handle any more. Idempotent.
     *
     * @throws IllegalStateException when this worker is not the owner, or on the worker's poller
     * @throws CallException {@link ErrorCode#NOT_KEPT} when it can't be written
     */
    void keep();

    /** Returns the id of the worker that holds the value. */
    int owner();

    boolean isOwner();

    /** Returns whether the owner has confirmed this reference. Always true on the owner. */
    boolean confirmedByOwner();

    /**
     * Returns a future that completes when the owner has confirmed this reference; after {@link Rpc#remote}, when the
     * owner has the value or the error of the handler that should have created it. Fails with a {@link CallException}
     * if the owner confirms nothing.
     */
    CompletableFuture<Void> confirmation();

    /** Returns the type of the value, as far as it is known. */
    String type();

    /** Returns an additional handle of the same reference. */
    RRef retain();

    /** Closes this handle. Idempotent. */
    @Override
    void close();
}
