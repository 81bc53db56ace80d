package io.waybill.api;

import io.waybill.api.handler.Outbox;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Calls of libtorch operators and TorchScript functions on other workers, as in {@code torch.distributed.rpc}: wait for
 * the result, get a future of it, or leave it on the callee and get a reference. Thread-safe.
 *
 * <p>A handler obtains it from {@link Outbox#rpc()}, a program from its worker. A worker is addressed by its name, or
 * its id in decimal. All methods throw {@link CallException} under the same conditions as {@link Caller}.
 */
@ProviderType
public interface Rpc {

    /** Returns the id and name of this worker. */
    WorkerInfo info();

    /**
     * Calls and waits, with the worker's default timeout.
     *
     * @return the result; the caller closes it
     */
    Response rpcSync(String to, Invocation call);

    /**
     * Calls and waits.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    Response rpcSync(String to, Invocation call, Duration timeout);

    /**
     * Calls and returns a future of the result, with the worker's default timeout. The future reports every failure of
     * the call.
     */
    CompletableFuture<Response> rpcAsync(String to, Invocation call);

    /**
     * Calls and returns a future of the result. The future reports every failure of the call, also if nothing was sent.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout);

    /**
     * Calls and leaves the result on the callee, with the worker's default timeout. Returns immediately; an error of
     * the call becomes an error of the reference.
     */
    RRef remote(String to, Invocation call);

    /**
     * Calls and leaves the result on the callee.
     *
     * @param timeout time within which the result must be created; {@link Duration#ZERO} for none
     */
    RRef remote(String to, Invocation call, Duration timeout);

    /**
     * Sends a call of another type, and leaves its result on the callee. The result must be created within its timeout.
     *
     * @param call of a type that has a {@linkplain MessageType#creating() creating form}, in which it is sent
     * @param type of the value, which {@link RRef#type} returns on every worker
     * @throws IllegalArgumentException if the type of the call has no creating form
     */
    RRef remote(Request call, String type);

    /** Creates a reference to a copy of the value, owned by this worker. */
    RRef rref(Value value);

    /**
     * Creates a reference to a copy of the value, owned by this worker.
     *
     * @param type of the value, which {@link RRef#type} returns on every worker
     */
    RRef rref(Value value, String type);

    /**
     * Releases all references, and waits until no other worker has a reference to a value of this worker.
     *
     * @return description of the references left at the limit; empty if none are left
     * @throws IllegalStateException when called by a handler
     */
    String shutdown(Duration limit);

    /**
     * Returns PyTorch's counters: {@code num_owner_rrefs}, {@code num_forks}, {@code num_pending_users},
     * {@code num_pending_futures}.
     */
    Map<String, String> debugInfo();
}
