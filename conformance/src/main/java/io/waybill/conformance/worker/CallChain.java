package io.waybill.conformance.worker;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Requests by the text that cases name an operation with, and calls one after another. A call in a case is a list:
 * worker, operation, arguments. Stateless.
 *
 * <p><b>Threads.</b> A later call is sent by the thread that completes the previous response.
 */
final class CallChain {

    private CallChain() {}

    /** The name without the prefix of functions. */
    static String name(String operation) {
        return operation.startsWith(HandlerKey.FUNCTION_PREFIX)
                ? operation.substring(HandlerKey.FUNCTION_PREFIX.length())
                : operation;
    }

    /**
     * {@code aten::add} is an operator, {@code function:math.scale} a function of TorchScript, {@code text.count} an
     * operation.
     */
    static Request request(
            String to, String operation, List<Value> positional, Map<String, Value> named, Invocation.Mode mode) {
        boolean isScript = operation.startsWith(HandlerKey.FUNCTION_PREFIX) || operation.contains("::");
        MessageType type = isScript ? MessageType.SCRIPT_CALL : MessageType.NAMED_CALL;
        return Request.invocation(to, type, new Invocation(name(operation), positional, named, mode));
    }

    /** @param first arguments in front of the call's own */
    static Request request(List<Value> call, List<Value> first) throws RejectedMessageException {
        if (call.size() < 2 || !(call.get(0) instanceof Value.Text to) || !(call.get(1) instanceof Value.Text name)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a call begins with a worker and an operation");
        }
        List<Value> arguments = new ArrayList<>(first);
        arguments.addAll(call.subList(2, call.size()));
        return request(to.value(), name.value(), arguments, Map.of(), Invocation.Mode.DIRECT);
    }

    /**
     * Makes calls one after another, each with the previous response, or first the value, as its first argument. At
     * least one.
     */
    static CompletableFuture<Response> start(Caller caller, Value value, List<List<Value>> calls) {
        CompletableFuture<Response> response;
        try {
            response = caller.callAsync(request(calls.get(0), List.of(value)));
        } catch (RejectedMessageException | RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        if (calls.size() == 1) {
            return response;
        }
        return response.thenCompose(received -> {
            try (received) {
                return start(caller, received.value(), calls.subList(1, calls.size()));
            }
        });
    }
}
