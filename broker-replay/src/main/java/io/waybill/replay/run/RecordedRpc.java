package io.waybill.replay.run;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.rref.id.ForkData;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Calls of operators and functions that return recorded responses. Thread-safe. */
record RecordedRpc(ReplayServices services) implements Rpc {

    private static final String ANY_TYPE = "Any";
    private static final Map<String, String> NOTHING_OPEN =
            Map.of("num_owner_rrefs", "0", "num_forks", "0", "num_pending_users", "0", "num_pending_futures", "0");

    @Override
    public WorkerInfo info() {
        return services.candidate().worker();
    }

    @Override
    public Response rpcSync(String to, Invocation call) {
        return rpcSync(to, call, Duration.ZERO);
    }

    @Override
    public Response rpcSync(String to, Invocation call, Duration timeout) {
        return services.call(
                Request.invocation(to, MessageType.SCRIPT_CALL, call).timeout(timeout));
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call) {
        return rpcAsync(to, call, Duration.ZERO);
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout) {
        return services.caller()
                .callAsync(Request.invocation(to, MessageType.SCRIPT_CALL, call).timeout(timeout));
    }

    @Override
    public RRef remote(String to, Invocation call) {
        return remote(to, call, Duration.ZERO);
    }

    @Override
    public RRef remote(String to, Invocation call, Duration timeout) {
        return remote(Request.invocation(to, MessageType.SCRIPT_CALL, call).timeout(timeout), ANY_TYPE);
    }

    @Override
    public RRef remote(Request call, String type) {
        ReplayedNestedCall asked = services.ask(call.creating(), false);
        List<ForkData> references = asked.recorded().request().references();
        if (references.isEmpty()) {
            throw ReplayCandidate.refused("the call on record names no reference that it creates");
        }
        return new ReplayedReference(services.candidate(), references.get(references.size() - 1), asked.failure());
    }

    @Override
    public RRef rref(Value value) {
        return rref(value, ANY_TYPE);
    }

    @Override
    public RRef rref(Value value, String type) {
        ValueEncoder encoder = new ValueEncoder(RRef::retain).value(value);
        ReplayedValue own = new ReplayedValue(
                encoder.toBytes(), List.copyOf(encoder.tensors()), List.copyOf(encoder.references()), Optional.empty());
        own.retainTensors();
        return new ReplayedReference(
                services.candidate(), services.candidate().values().add(own), type);
    }

    @Override
    public String shutdown(Duration limit) {
        throw new IllegalStateException("a handler can't end the references of its worker: its program does");
    }

    @Override
    public Map<String, String> debugInfo() {
        return NOTHING_OPEN;
    }
}
