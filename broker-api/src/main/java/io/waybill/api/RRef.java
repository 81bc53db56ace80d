package io.waybill.api;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A handle of a remote reference: a name for a value that its owner, one worker, holds. As {@code torch.distributed.rpc.RRef}.
 *
 * <p>A reference travels as an argument of a call, or in its response: the receiver gets a handle of its own. A handler does not begin before
 * the references among its arguments are known to their owners. The value stays until the last handle of the last worker is closed.
 *
 * <p>What is fetched on a handler's thread is fetched on behalf of its request: as a nested call, which ends at its deadline at the latest.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The receiver of a reference from {@link Rpc} or {@link #retain} closes it. A handle among the
 * arguments of a request is the broker's, and ends with the request; one in a response ends when the {@link Response} is closed.
 *
 * <p><b>Errors.</b> A {@link CallException}: the error of the value's creation; {@link ErrorCode#REFERENCE_DELETED} after the last handle
 * was closed; {@link ErrorCode#OWNER_LOST} when the owner died and does not come back with the value.
 */
@ProviderType
public interface RRef extends AutoCloseable {

    /**
     * Gets the value from its owner, which may be this worker, and waits until it has been created.
     *
     * @param timeout {@link Duration#ZERO} for none
     * @return a copy, the caller's to close
     * @throws IllegalStateException when called on the worker's poller
     */
    Response toHere(Duration timeout);

    /** The same with the worker's default timeout. */
    Response toHere();

    /** The same without waiting. */
    CompletableFuture<Response> toHereAsync(Duration timeout);

    /**
     * The value, on its owner; waits until it has been created.
     *
     * @return the caller's to close
     * @throws IllegalStateException when this worker is not the owner
     */
    Response localValue();

    /**
     * Keeps the value on the owner's disk, on its owner, from when this returns; waits until it has been created. It outlives the owner's
     * process then: when the owner joins again under its name, those who have the reference find the value. It is removed when no worker has the
     * reference any more. Once more does nothing.
     *
     * @throws IllegalStateException when this worker is not the owner, or on the worker's poller
     * @throws CallException {@link ErrorCode#NOT_KEPT} when it can't be written
     */
    void keep();

    /** Id of the worker that has the value. */
    int owner();

    boolean isOwner();

    /** Whether the owner has said that it knows of this reference. An owner always does. */
    boolean confirmedByOwner();

    /** Of the value, as far as it is known. */
    String type();

    /** One more handle. */
    RRef retain();

    /** Ends this handle; once more does nothing. */
    @Override
    void close();
}
