package io.waybill.api.broker;

import java.time.Duration;
import java.util.Collection;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A further worker of the home, which a bundle or a program joined on behalf of a process that can't join by itself. It
 * has its own id, journals and references. The access policies of the worker that joined it apply to its requests, too.
 *
 * <p>It leaves the home when it is closed, and when the {@link Broker} that joined it is revoked. Thread-safe.
 */
@ProviderType
public interface JoinedWorker extends AutoCloseable {

    /** Returns the broker of this worker, which is revoked when the worker leaves. */
    Broker broker();

    /**
     * Shuts several workers down together, like PyTorch's graceful shutdown: waits until each of them has called this
     * method, has left or has died, and no call is in flight among them; then releases all references.
     * {@linkplain #close Close} the worker afterwards.
     *
     * @param others names or ids; this worker itself may be among them
     * @return description of the unfinished work at the limit; empty if all is finished
     * @throws IllegalStateException on the worker's poller
     */
    String shutdown(Duration limit, Collection<String> others);

    /**
     * Runs a task that sends messages, then polls on the calling thread for those workers that were joined by the same
     * worker, received something, and sleep. Calls their handlers, except those that
     * {@linkplain io.waybill.api.handler.SelectivelyBlocking may block}, and the listeners of their calls. This saves
     * one wake-up per worker; the calling thread is busy meanwhile.
     *
     * @param sends should not wait for other workers: a wait wakes the threads of the workers that it has sent to. Its
     *     exception is thrown after the polls
     */
    void sendAndPoll(Runnable sends);

    /**
     * Leaves the home in order, like a program that closes its worker: starts no further request, and waits for running
     * ones up to the drain limit of the worker that joined it. Requests that were not started wait some seconds for the
     * next worker of this name, so an update of the bundle loses no call. Errors are logged. Idempotent.
     */
    @Override
    void close();

    /**
     * Leaves the home immediately, because the process behind it is gone. Its requests without a response, running or
     * not started, fail with {@code WORKER_LOST} for their callers. Errors are logged. Idempotent.
     */
    void abandon();
}
