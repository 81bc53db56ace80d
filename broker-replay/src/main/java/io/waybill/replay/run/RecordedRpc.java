package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.rref.ForkData;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Calls of operators and functions, answered from the record. Thread-safe. */
final class RecordedRpc implements Rpc {

    private static final String ANY_TYPE = "Any";
    private static final Map<String, String> NOTHING_OPEN =
            Map.of("num_owner_rrefs", "0", "num_forks", "0", "num_pending_users", "0", "num_pending_futures", "0");

    private final Attempt attempt;

    RecordedRpc(Attempt attempt) {
        this.attempt = attempt;
    }

    @Override
    public WorkerInfo info() {
        return attempt.contender().worker();
    }

    @Override
    public Response rpcSync(String to, Invocation call) {
        return attempt.call(Request.invocation(to, MessageType.SCRIPT_CALL, call));
    }

    @Override
    public Response rpcSync(String to, Invocation call, Duration timeout) {
        return attempt.call(
                Request.invocation(to, MessageType.SCRIPT_CALL, call).timeout(timeout));
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call) {
        return attempt.caller().callAsync(Request.invocation(to, MessageType.SCRIPT_CALL, call));
    }

    @Override
    public CompletableFuture<Response> rpcAsync(String to, Invocation call, Duration timeout) {
        return attempt.caller()
                .callAsync(Request.invocation(to, MessageType.SCRIPT_CALL, call).timeout(timeout));
    }

    @Override
    public RRef remote(String to, Invocation call) {
        return remote(to, call, Duration.ZERO);
    }

    @Override
    public RRef remote(String to, Invocation call, Duration timeout) {
        NestedCall asked = attempt.ask(
                Request.invocation(to, MessageType.SCRIPT_REMOTE_CALL, call).timeout(timeout));
        List<ForkData> references = asked.request().references();
        if (references.isEmpty()) {
            throw Contender.refused("the call on record names no reference that it creates");
        }
        Optional<CallException> failure =
                asked.response().filter(RecordContent::isError).map(RecordContent::failure);
        return new ReplayedReference(attempt.contender(), references.get(references.size() - 1), failure);
    }

    @Override
    public RRef rref(Value value) {
        ValueEncoder encoder = new ValueEncoder(RRef::retain).value(value);
        OwnValue own = new OwnValue(
                encoder.toBytes(), List.copyOf(encoder.tensors()), List.copyOf(encoder.references()), Optional.empty());
        own.retainTensors();
        return new ReplayedReference(
                attempt.contender(), attempt.contender().values().add(own), ANY_TYPE);
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
