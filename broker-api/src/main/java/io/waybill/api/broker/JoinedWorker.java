package io.waybill.api.broker;

import java.time.Duration;
import java.util.Collection;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A further worker of the home, which a bundle or a program joined in the name of a process that can't join by itself. It has its own id, journals and
 * references. The access policies of the worker that joined it apply to its requests, too.
 *
 * <p>It leaves the home when it is closed, and when the {@link Broker} that joined it is revoked. Thread-safe.
 */
@ProviderType
public interface JoinedWorker extends AutoCloseable {

    /** The broker of this worker; revoked when it leaves. */
    Broker broker();

    /**
     * Ends the work of several workers together, as PyTorch's graceful shutdown does: waits until each of them has begun to, has left or has ended, and no call is in flight
     * among them; then releases all references. {@linkplain #close Close} it afterwards.
     *
     * @param others names or ids; this worker itself may be among them
     * @return what had not ended at the limit; empty when all has
     * @throws IllegalStateException on the worker's poller
     */
    String shutdown(Duration limit, Collection<String> others);

    /**
     * Runs what sends messages, and then polls on the calling thread for those workers that the same worker has joined, that were sent something, and that sleep: it calls
     * their handlers, except those that {@linkplain io.waybill.api.handler.SelectivelyBlocking may block}, and the listeners of their calls. So no thread has to be woken
     * for each. What the calling thread has to do next waits meanwhile.
     *
     * @param sends should not wait for other workers: what it has sent until then wakes their threads. What it throws is thrown after the polls
     */
    void sendAndPoll(Runnable sends);

    /**
     * Leaves the home in order, as a program does that closes its worker: no request is begun any more, and those that were may end within the drain limit of the worker
     * that joined it, for which this waits. Requests that were not begun wait some seconds for the next worker of this name: so a bundle that joins one loses no call when
     * it is updated. Errors are logged. Idempotent.
     */
    @Override
    void close();

    /**
     * Leaves the home at once, for a process that is gone. Requests that its handler has not responded to, and those that were not begun, end with
     * {@code WORKER_LOST} for their callers. Errors are logged. Idempotent.
     */
    void abandon();
}
