package io.waybill.broker;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Operators, functions and references of an owner, until its broker is revoked. Thread-safe. */
final class OwnedRpc implements Rpc {

    private final Rpc rpc;
    private final OwnedBroker broker;
    private final InFlightCalls calls;

    OwnedRpc(Rpc rpc, OwnedBroker broker, InFlightCalls calls) {
        this.rpc = rpc;
        this.broker = broker;
        this.calls = calls;
    }

    private Rpc open() {
        InFlightCalls.requireNotRevoked(broker.whyRevoked());
        return rpc;
    }

    @Override
    public WorkerInfo info() {
        return open().info();
    }

    @Override
    public Response rpcSync(String to, Invocation call) {
        return open().rpcSync(to, call);
    }

    @Override
    public Response rpcSync(String to, Invocation call, Duration timeout) {
        return open().rpcSync(to, call, timeout);
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call) {
        return calls.async(() -> open().rpcAsync(to, call));
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout) {
        return calls.async(() -> open().rpcAsync(to, call, timeout));
    }

    @Override
    public RRef remote(String to, Invocation call) {
        return calls.add(open().remote(to, call));
    }

    @Override
    public RRef remote(String to, Invocation call, Duration timeout) {
        return calls.add(open().remote(to, call, timeout));
    }

    @Override
    public RRef remote(Request call, String type) {
        return calls.add(open().remote(call, type));
    }

    @Override
    public RRef rref(Value value) {
        return calls.add(open().rref(value));
    }

    @Override
    public RRef rref(Value value, String type) {
        return calls.add(open().rref(value, type));
    }

    @Override
    public String shutdown(Duration limit) {
        throw new IllegalStateException(
                "the Broker of " + broker.owner() + " can't end the references of its worker: its program does");
    }

    @Override
    public Map<String, String> debugInfo() {
        return open().debugInfo();
    }
}
