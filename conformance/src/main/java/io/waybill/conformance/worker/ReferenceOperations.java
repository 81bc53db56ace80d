package io.waybill.conformance.worker;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.conformance.worker.OperationCall.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The operations that take, make or keep remote references. Thread-safe. */
final class ReferenceOperations {

    private static final String FORWARD = Operations.PREFIX + "forward";

    private final Map<String, RRef> kept = new ConcurrentHashMap<>();

    /** Returns all operations, by name. */
    Map<String, Operation> all() {
        return Map.ofEntries(
                Map.entry("fetch", call -> fetch(call, call.reference(0))),
                Map.entry("left", call -> fetch(call, leave(call, call.positional()))),
                Map.entry("sum", ReferenceOperations::sum),
                Map.entry("confirmed", call -> Value.of(call.reference(0).confirmedByOwner())),
                Map.entry("refer", ReferenceOperations::refer),
                Map.entry("own", ReferenceOperations::own),
                Map.entry("forward", ReferenceOperations::forward),
                Map.entry("increase", ReferenceOperations::increase),
                Map.entry("keep", this::keep),
                Map.entry("kept", this::kept),
                Map.entry("drop", this::drop));
    }

    private static Value fetch(OperationCall call, RRef reference) {
        return call.valueOf(reference.toHere());
    }

    /** Makes a call whose result stays on the callee. */
    private static RRef leave(OperationCall call, List<Value> parts) throws RejectedMessageException {
        OperationCall.require(
                parts.size() > 1 && parts.get(0) instanceof Value.Text && parts.get(1) instanceof Value.Text,
                "a call begins with a worker and an operation");
        String to = ((Value.Text) parts.get(0)).value();
        String name = ((Value.Text) parts.get(1)).value();
        Invocation left = new Invocation(name, parts.subList(2, parts.size()), Map.of());
        return call.open(call.outbox().rpc().remote(to, left));
    }

    /** Adds up the values of references with the operators of a worker, one by one, which sparse tensors can do too. */
    private static Value sum(OperationCall call) throws RejectedMessageException {
        Value sum = null;
        for (Value each : call.list(0)) {
            Value value = fetch(call, OperationCall.reference(each));
            sum = sum == null ? value : add(call, call.text(1), sum, value);
        }
        OperationCall.require(sum != null, "expected references to add up");
        return sum;
    }

    private static Value add(OperationCall call, String worker, Value one, Value other) {
        Invocation add = new Invocation("aten::add", List.of(one, other), Map.of());
        return call.valueOf(call.outbox().rpc().rpcSync(worker, add));
    }

    private static Value refer(OperationCall call) throws RejectedMessageException {
        List<Value> references = new ArrayList<>();
        for (Value each : call.positional()) {
            references.add(Value.of(leave(call, OperationCall.elements(each))));
        }
        return new Value.Items(references);
    }

    private static Value own(OperationCall call) {
        return new Value.Items(call.positional().stream()
                .map(value -> Value.of(call.open(call.outbox().rpc().rref(value))))
                .toList());
    }

    /** Passes a reference on to the first of a list of workers, with the others; the last worker fetches it. */
    private static Value forward(OperationCall call) throws RejectedMessageException {
        List<Value> workers = call.list(0);
        if (workers.isEmpty()) {
            return fetch(call, call.reference(1));
        }
        Value others = new Value.Items(workers.subList(1, workers.size()));
        List<Value> onward = List.of(workers.get(0), Value.of(FORWARD), others, call.argument(1));
        return new Value.Items(List.of(Value.of(leave(call, onward))));
    }

    private static Value increase(OperationCall call) throws RejectedMessageException {
        List<Value> sums = new ArrayList<>();
        String self = call.outbox().rpc().info().name();
        for (Value each : call.list(0)) {
            sums.add(add(call, self, fetch(call, OperationCall.reference(each)), call.argument(1)));
        }
        return new Value.Items(sums);
    }

    private Value keep(OperationCall call) throws RejectedMessageException {
        close(kept.put(call.text(0), call.reference(1).retain()));
        return Value.NONE;
    }

    private Value kept(OperationCall call) throws RejectedMessageException {
        RRef reference = kept.get(call.text(0));
        if (reference == null) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "nothing is kept under this name");
        }
        return fetch(call, reference);
    }

    private Value drop(OperationCall call) throws RejectedMessageException {
        RRef reference = kept.remove(call.text(0));
        close(reference);
        return Value.of(reference != null);
    }

    private static void close(RRef reference) {
        if (reference != null) {
            reference.close();
        }
    }

    /** Closes all that are kept. */
    void reset() {
        List.copyOf(kept.keySet()).forEach(name -> close(kept.remove(name)));
    }
}
