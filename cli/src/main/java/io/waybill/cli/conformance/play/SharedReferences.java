package io.waybill.cli.conformance.play;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Outbox;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Operations on references that came as arguments, and those that are kept when their call is over.
 *
 * <p><b>Threads.</b> Any.
 */
final class SharedReferences {

    private final Map<String, RRef> kept = new HashMap<>(); // guarded by this

    /** Answers with what its argument stands for. */
    static void fetch(Message message, Outbox outbox) throws RejectedMessageException {
        fetch(Operations.argument(message, 0), outbox);
    }

    static void fetch(Value reference, Outbox outbox) throws RejectedMessageException {
        try (Response response = reference(reference).toHere()) {
            outbox.respond(Held.retain(response.value()));
        }
    }

    /** Adds up what the references in its first argument stand for, with the operators of the worker that the second one names. */
    static void sum(Message message, Outbox outbox) throws RejectedMessageException {
        if (!(Operations.argument(message, 0) instanceof Value.Items references)) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "argument 0 must be a list of references");
        }
        List<Response> fetched = new ArrayList<>();
        List<Value> values = new ArrayList<>();
        try {
            for (Value reference : references.values()) {
                Response response = reference(reference).toHere();
                fetched.add(response);
                values.add(response.value());
            }
            outbox.respond(sum(values, Operations.text(message, 1), outbox.caller()));
        } finally {
            fetched.forEach(Response::close);
        }
    }

    /** One after the other, which sparse tensors can do too. Two at least. */
    private static Value sum(List<Value> values, String to, Caller caller) {
        Response sum = null;
        try {
            Value first = values.get(0);
            for (Value value : values.subList(1, values.size())) {
                Response next = caller.call(script(to, "aten::add", sum == null ? first : sum.value(), value));
                if (sum != null) {
                    sum.close();
                }
                sum = next;
            }
            return Held.retain(sum.value());
        } finally {
            if (sum != null) {
                sum.close();
            }
        }
    }

    private static Request script(String to, String operator, Value... arguments) {
        return Request.invocation(to, MessageType.SCRIPT_CALL, new Invocation(operator, List.of(arguments), Map.of()));
    }

    /** Answers whether the owner of its argument knew of it when the handler began. */
    static void confirmed(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.respond(Value.of(reference(message, 0).confirmedByOwner()));
    }

    /** Keeps its second argument under the name that the first one is. */
    void keep(Message message, Outbox outbox) throws RejectedMessageException {
        RRef reference = reference(message, 1).retain();
        RRef before;
        synchronized (this) {
            before = kept.put(Operations.text(message, 0), reference);
        }
        if (before != null) {
            before.close();
        }
        outbox.respond(Value.NONE);
    }

    /** Answers with what the reference kept under a name stands for. */
    void kept(Message message, Outbox outbox) throws RejectedMessageException {
        RRef reference;
        synchronized (this) {
            reference = kept.get(Operations.text(message, 0));
        }
        if (reference == null) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "nothing is kept under this name");
        }
        try (Response response = reference.toHere()) {
            outbox.respond(Held.retain(response.value()));
        }
    }

    /** Ends the reference kept under a name. */
    void drop(Message message, Outbox outbox) throws RejectedMessageException {
        RRef reference;
        synchronized (this) {
            reference = kept.remove(Operations.text(message, 0));
        }
        if (reference != null) {
            reference.close();
        }
        outbox.respond(Value.of(reference != null));
    }

    /** Ends all. */
    synchronized void reset() {
        kept.values().forEach(RRef::close);
        kept.clear();
    }

    private static RRef reference(Message message, int index) throws RejectedMessageException {
        return reference(Operations.argument(message, index));
    }

    static RRef reference(Value value) throws RejectedMessageException {
        if (value instanceof Value.OfRRef reference) {
            return reference.value();
        }
        throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "expected a remote reference");
    }
}
