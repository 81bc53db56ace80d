package io.waybill.conformance.worker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.conformance.worker.OperationCall.Operation;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;

/**
 * The operations that every worker of a case serves, in place of the Python functions of the peer's tests. The
 * reference of the format describes them.
 *
 * <p><b>Threads.</b> Any.
 */
final class Operations {

    static final String PREFIX = "conformance.";

    private static final ExecutorSettings THREADS = ExecutorSettings.forProcessors(2);
    private static final int MAX_CALLERS = 1024;

    /** Callers that wait for each other. */
    private record Gathering(List<Value> values, List<LateResponse> responses) {}

    private final WorkerInfo self;
    private final Gates gates = new Gates();
    private final ReferenceOperations references = new ReferenceOperations();
    private final Map<Value, Gathering> gatherings = new HashMap<>(); // guarded by this

    Operations(WorkerInfo self) {
        this.self = self;
    }

    Gates gates() {
        return gates;
    }

    /** Closes what the calls of a case kept. */
    void reset() {
        references.reset();
    }

    void publish(HandlerRegistry registry, String version) {
        Map<String, Operation> operations = new HashMap<>(references.all());
        operations.put("echo", Operations::echo);
        operations.put("fail", Operations::fail);
        operations.put("throw", Operations::throwError);
        operations.put("whoami", this::whoami);
        operations.put("hold", this::hold);
        operations.put("block", this::block);
        operations.put("nothing", call -> null);
        operations.put("nested", Operations::nested);
        operations.put("chain", Operations::chain);
        operations.put("fanout", Operations::fanOut);
        operations.put("gather", this::gather);
        Provider provider = new Provider("conformance", version);
        HandlerExecutor executor = registry.newExecutor(provider, THREADS);
        operations.forEach((name, operation) -> {
            MessageHandler handler = (message, outbox) -> OperationCall.handle(operation, message, outbox);
            // the result of a function can stay with its owner
            for (String prefix : List.of("", HandlerKey.FUNCTION_PREFIX)) {
                registry.add(HandlerSpec.of(HandlerKey.parse(prefix + PREFIX + name), handler, provider, executor));
            }
        });
    }

    /** The only argument; several as a tuple; named ones as a dict when there are no others. */
    private static Value echo(OperationCall call) throws RejectedMessageException {
        List<Value> positional = call.positional();
        if (!positional.isEmpty()) {
            return positional.size() == 1 ? positional.get(0) : new Value.Tuple(positional);
        }
        Map<Value, Value> named = new LinkedHashMap<>();
        call.message().invocation().named().forEach((name, value) -> named.put(Value.of(name), value));
        return new Value.Dict(named);
    }

    private static Value fail(OperationCall call) throws RejectedMessageException {
        throw new RejectedMessageException(
                ErrorCode.REFUSED, call.text(Math.max(0, call.positional().size() - 1)));
    }

    private static Value throwError(OperationCall call) throws RejectedMessageException {
        throw new IllegalStateException(call.text(0));
    }

    private Value whoami(OperationCall call) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("id"), Value.of(self.id()));
        fields.put(Value.of("name"), Value.of(self.name()));
        fields.put(Value.of("from"), Value.of(call.message().from()));
        return new Value.Dict(fields);
    }

    private Value hold(OperationCall call) throws RejectedMessageException {
        Value value = OperationCall.retain(call.argument(1));
        LateResponse late = call.outbox().later();
        gates.reach(call.text(0)).thenRun(() -> late.send(value));
        return null;
    }

    private Value block(OperationCall call) throws RejectedMessageException {
        gates.reach(call.text(0)).join();
        return call.argument(1);
    }

    private static Value nested(OperationCall call) throws RejectedMessageException {
        return call.valueOf(call.outbox().caller().call(CallChain.request(call.positional(), List.of())));
    }

    private static Value chain(OperationCall call) throws RejectedMessageException {
        Value first = call.argument(0);
        List<List<Value>> calls = call.calls(1);
        if (calls.isEmpty()) {
            return first;
        }
        for (List<Value> each : calls) {
            CallChain.request(each, List.of(first)); // malformed calls fail before any is made
        }
        LateResponse late = call.outbox().later();
        List<Value> used = calls.stream().map(Value.Items::new).collect(Collectors.toList());
        Value kept = OperationCall.retain(new Value.Items(used)); // sent after the handler returned
        CallChain.start(call.outbox().caller(), first, calls).whenComplete((response, error) -> {
            OperationCall.release(kept);
            end(late, response == null ? List.of() : List.of(response), error, values -> values.get(0));
        });
        return null;
    }

    private static Value fanOut(OperationCall call) throws RejectedMessageException {
        List<Request> requests = new ArrayList<>();
        for (List<Value> each : call.calls(0)) {
            requests.add(CallChain.request(each, List.of()));
        }
        LateResponse late = call.outbox().later();
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        requests.forEach(each -> responses.add(call.outbox().caller().callAsync(each)));
        Response.all(responses).whenComplete((all, error) -> end(late, all, error, Value.Items::new));
        return null;
    }

    /** Responds with what a function makes of the responses' values, or with the error. */
    private static void end(
            LateResponse response,
            List<Response> responses,
            Throwable error,
            java.util.function.Function<List<Value>, Value> combined) {
        if (error == null) {
            List<Value> values = responses.stream().map(Response::value).toList();
            response.send(OperationCall.retain(combined.apply(values)));
            responses.forEach(Response::close);
        } else {
            Throwable cause = error instanceof CompletionException ? error.getCause() : error;
            ErrorCode code = cause instanceof CallException call ? call.code() : ErrorCode.HANDLER_FAILED;
            response.fail(code, String.valueOf(cause.getMessage()));
        }
    }

    /**
     * Responds to a number of callers with all their values, once the last one called: a parameter server's barrier.
     */
    private Value gather(OperationCall call) throws RejectedMessageException {
        OperationCall.require(
                call.argument(1) instanceof Value.Int count && count.value() >= 1 && count.value() <= MAX_CALLERS,
                "argument 1 must be a number of callers from 1 to " + MAX_CALLERS);
        Value value = OperationCall.retain(call.argument(2));
        LateResponse late = call.outbox().later();
        Gathering full = null;
        synchronized (this) {
            Gathering gathering = gatherings.computeIfAbsent(
                    call.argument(0), key -> new Gathering(new ArrayList<>(), new ArrayList<>()));
            gathering.values.add(value);
            gathering.responses.add(late);
            if (call.argument(1).equals(Value.of((long) gathering.values.size()))) {
                full = gatherings.remove(call.argument(0));
            }
        }
        if (full != null) {
            Value all = new Value.Items(full.values);
            full.responses.forEach(each -> each.send(OperationCall.retain(all)));
            OperationCall.release(all);
        }
        return null;
    }
}
