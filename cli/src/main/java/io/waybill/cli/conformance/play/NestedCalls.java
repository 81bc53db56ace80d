package io.waybill.cli.conformance.play;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.LateResponse;
import io.waybill.api.Message;
import io.waybill.api.Outbox;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Operations that call others.
 *
 * <p>A call is a list: worker, operation, arguments. <b>Threads.</b> Any: what comes later is sent by the thread that completes the last
 * answer.
 */
final class NestedCalls {

    private NestedCalls() {}

    /** Makes the call that its arguments are, in this thread, and answers with its response. */
    static void blocking(Message message, Outbox outbox) throws RejectedMessageException {
        Request request = request(message.invocation().positional(), List.of());
        try (Response response = outbox.caller().call(request)) {
            outbox.respond(Held.retain(response.value()));
        }
    }

    /**
     * The first argument goes through all calls in the second, one after another: each gets the response of the one before as its first
     * argument. No thread waits.
     */
    static void chain(Message message, Outbox outbox) throws RejectedMessageException {
        Value start = Operations.argument(message, 0);
        List<List<Value>> calls = calls(Operations.argument(message, 1));
        for (List<Value> call : calls) {
            request(call, List.of(start)); // what is written wrongly is said before anything is called
        }
        LateResponse reply = outbox.later();
        if (calls.isEmpty()) {
            reply.send(Held.retain(start));
            return;
        }
        List<Value> kept = calls.stream().<Value>map(Value.Items::new).toList();
        Held.retain(new Value.Items(kept)); // their tensors are sent after the handler returned
        from(outbox.caller(), start, calls).whenComplete((response, error) -> {
            Held.release(new Value.Items(kept));
            end(reply, response, error);
        });
    }

    /** Makes calls one after another, with the value, and then each response, as the next one's first argument. At least one. */
    static CompletableFuture<Response> from(Caller caller, Value value, List<List<Value>> calls) {
        CompletableFuture<Response> answer;
        try {
            answer = caller.callAsync(request(calls.get(0), List.of(value)));
        } catch (RejectedMessageException | RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        if (calls.size() == 1) {
            return answer;
        }
        return answer.thenCompose(response -> {
            try (response) {
                return from(caller, response.value(), calls.subList(1, calls.size()));
            }
        });
    }

    private static void end(LateResponse reply, Response response, Throwable error) {
        if (error == null) {
            try (response) {
                reply.send(Held.retain(response.value()));
            }
        } else {
            fail(reply, error);
        }
    }

    private static void fail(LateResponse reply, Throwable error) {
        Throwable cause = error instanceof java.util.concurrent.CompletionException ? error.getCause() : error;
        ErrorCode code = cause instanceof CallException call ? call.code() : ErrorCode.HANDLER_FAILED;
        reply.fail(code, String.valueOf(cause.getMessage()));
    }

    /** Makes all calls in its argument at once, and answers with a list of their responses, or with the first error. No thread waits. */
    static void fanOut(Message message, Outbox outbox) throws RejectedMessageException {
        List<Request> requests = new ArrayList<>();
        for (List<Value> call : calls(Operations.argument(message, 0))) {
            requests.add(request(call, List.of()));
        }
        LateResponse reply = outbox.later();
        List<CompletableFuture<Response>> answers = new ArrayList<>();
        for (Request request : requests) {
            answers.add(outbox.caller().callAsync(request));
        }
        Response.all(answers).whenComplete((responses, error) -> gathered(reply, responses, error));
    }

    private static void gathered(LateResponse reply, List<Response> responses, Throwable error) {
        if (error != null) {
            fail(reply, error);
            return;
        }
        try {
            List<Value> values = new ArrayList<>();
            for (Response response : responses) {
                values.add(Held.retain(response.value()));
            }
            reply.send(new Value.Items(values));
        } finally {
            responses.forEach(Response::close);
        }
    }

    private static List<List<Value>> calls(Value value) throws RejectedMessageException {
        List<List<Value>> calls = new ArrayList<>();
        for (Value call : elements(value)) {
            calls.add(elements(call));
        }
        return calls;
    }

    private static List<Value> elements(Value value) throws RejectedMessageException {
        if (value instanceof Value.Items items) {
            return items.values();
        }
        throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "expected a list of calls, or of a call's parts");
    }

    private static Request request(List<Value> call, List<Value> first) throws RejectedMessageException {
        if (call.size() < 2 || !(call.get(0) instanceof Value.Text to) || !(call.get(1) instanceof Value.Text name)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a call begins with a worker and an operation");
        }
        List<Value> arguments = new ArrayList<>(first);
        arguments.addAll(call.subList(2, call.size()));
        return Target.of(name.value()).request(to.value(), arguments, Map.of(), Invocation.Mode.DIRECT);
    }
}
