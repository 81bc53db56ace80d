package io.waybill.cli.conformance.play;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.Outbox;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Operations that response with references, or go through a list of them.
 *
 * <p><b>Threads.</b> Any.
 */
final class AnsweredReferences {

    private static final String FORWARD = "conformance.forward";

    private AnsweredReferences() {}

    /** Leaves the result of each call in its arguments where it is made, and answers with a list of references to them. */
    static void refer(Message message, Outbox outbox) throws RejectedMessageException {
        List<RRef> left = new ArrayList<>();
        try {
            for (Value call : message.invocation().positional()) {
                List<Value> parts = elements(call);
                left.add(leave(outbox.rpc(), parts));
            }
            outbox.respond(list(left));
        } finally {
            left.forEach(RRef::close);
        }
    }

    private static RRef leave(Rpc rpc, List<Value> call) throws RejectedMessageException {
        if (call.size() < 2 || !(call.get(0) instanceof Value.Text to) || !(call.get(1) instanceof Value.Text name)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a call begins with a worker and an operation");
        }
        return rpc.remote(to.value(), new Invocation(name.value(), call.subList(2, call.size()), Map.of()));
    }

    /** Answers with a list of references to its arguments, which are values of the worker's own from now on. */
    static void own(Message message, Outbox outbox) throws RejectedMessageException {
        List<RRef> own = new ArrayList<>();
        try {
            for (Value value : message.invocation().positional()) {
                own.add(outbox.rpc().rref(value));
            }
            outbox.respond(list(own));
        } finally {
            own.forEach(RRef::close);
        }
    }

    /**
     * Hands a reference on to the first of a list of workers, which hands it on to the others, and answers with a list of the reference to what
     * that one answered; the last one responses with what the reference stands for.
     */
    static void forward(Message message, Outbox outbox) throws RejectedMessageException {
        List<Value> workers = elements(Operations.argument(message, 0));
        Value reference = Operations.argument(message, 1);
        if (workers.isEmpty()) {
            SharedReferences.fetch(reference, outbox);
            return;
        }
        Value others = new Value.Items(workers.subList(1, workers.size()));
        Invocation onward = new Invocation(FORWARD, List.of(others, reference), Map.of());
        if (!(workers.get(0) instanceof Value.Text to)) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "expected the names of workers");
        }
        try (RRef left = outbox.rpc().remote(to.value(), onward)) {
            outbox.respond(list(List.of(left)));
        }
    }

    /** Answers with a list of what each reference in a list stands for, plus the second argument, by an operator of this worker. */
    static void increase(Message message, Outbox outbox, String self) throws RejectedMessageException {
        List<Value> sums = new ArrayList<>();
        for (Value each : elements(Operations.argument(message, 0))) {
            try (Response fetched = SharedReferences.reference(each).toHere()) {
                List<Value> arguments = List.of(fetched.value(), Operations.argument(message, 1));
                Invocation add = new Invocation("aten::add", arguments, Map.of());
                try (Response sum = outbox.rpc().rpcSync(self, add)) {
                    sums.add(Held.retain(sum.value()));
                }
            }
        }
        outbox.respond(new Value.Items(sums));
    }

    private static Value list(List<RRef> references) {
        return new Value.Items(references.stream().<Value>map(Value::of).toList());
    }

    private static List<Value> elements(Value value) throws RejectedMessageException {
        if (value instanceof Value.Items items) {
            return items.values();
        }
        throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "expected a list");
    }
}
