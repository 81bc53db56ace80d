package io.waybill.api;

import io.waybill.api.handler.Outbox;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Calls of libtorch operators and TorchScript functions on other workers, as in {@code torch.distributed.rpc}: wait for the result, get a
 * future of it, or leave it where it is and get a reference. Thread-safe.
 *
 * <p>A handler has it from {@link Outbox#rpc()}, a program from its worker. A worker is named by its name, or its id in decimal. All methods throw {@link CallException} as those of {@link Caller} do.
 */
@ProviderType
public interface Rpc {

    /** This worker. */
    WorkerInfo info();

    /** Calls and waits. @return the result, the caller's to close */
    Response rpcSync(String to, Invocation call);

    /** The same. @param timeout {@link Duration#ZERO} for none */
    Response rpcSync(String to, Invocation call, Duration timeout);

    /** Calls, and gives a future of the result. */
    CompletableFuture<Response> rpcAsync(String to, Invocation call);

    /** The same. @param timeout {@link Duration#ZERO} for none */
    CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout);

    /** Calls, and leaves the result with the callee. Returns at once; an error of the call is an error of the reference. */
    RRef remote(String to, Invocation call);

    /** The same. @param timeout until when the result must have been created; {@link Duration#ZERO} for none */
    RRef remote(String to, Invocation call, Duration timeout);

    /** A reference to a value of this worker's own, which is copied. */
    RRef rref(Value value);

    /**
     * Gives back all references, and waits until no other worker has one to a value of this worker.
     *
     * @return what was left at the limit; empty when nothing was
     * @throws IllegalStateException on a handler's behalf
     */
    String shutdown(Duration limit);

    /** PyTorch's counters: {@code num_owner_rrefs}, {@code num_forks}, {@code num_pending_users}, {@code num_pending_futures}. */
    Map<String, String> debugInfo();
}
