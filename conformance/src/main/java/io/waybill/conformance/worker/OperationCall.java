package io.waybill.conformance.worker;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Storage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

/**
 * A call of one of the {@link Operations}: its arguments, and what it opens until its response is sent.
 *
 * <p><b>Threads.</b> The handler's.
 */
final class OperationCall implements AutoCloseable {

    /** Implementation of an operation. */
    @FunctionalInterface
    interface Operation {
        /** Returns the value to respond with; null when it responds by itself, later or not at all. */
        Value run(OperationCall call) throws RejectedMessageException;
    }

    private final Message message;
    private final Outbox outbox;
    private final List<Value> positional;
    private final Deque<Runnable> opened = new ArrayDeque<>();

    private OperationCall(Message message, Outbox outbox) throws RejectedMessageException {
        this.message = message;
        this.outbox = outbox;
        this.positional = message.invocation().positional();
    }

    /** Runs an operation and responds with its value. */
    static void handle(Operation operation, Message message, Outbox outbox) throws RejectedMessageException {
        try (OperationCall call = new OperationCall(message, outbox)) {
            Value value = operation.run(call);
            if (value != null) {
                outbox.respond(retain(value));
            }
        }
    }

    Message message() {
        return message;
    }

    Outbox outbox() {
        return outbox;
    }

    List<Value> positional() {
        return positional;
    }

    /** The value of a response, which is closed after this call's response is sent. */
    Value valueOf(Response response) {
        opened.push(response::close);
        return response.value();
    }

    /** A reference that is closed after the response is sent. */
    RRef open(RRef reference) {
        opened.push(reference::close);
        return reference;
    }

    Value argument(int index) throws RejectedMessageException {
        require(index < positional.size(), "argument " + index + " of " + positional.size() + " is missing");
        return positional.get(index);
    }

    String text(int index) throws RejectedMessageException {
        require(argument(index) instanceof Value.Text, "argument " + index + " must be a string");
        return ((Value.Text) argument(index)).value();
    }

    List<Value> list(int index) throws RejectedMessageException {
        return elements(argument(index));
    }

    RRef reference(int index) throws RejectedMessageException {
        return reference(argument(index));
    }

    static RRef reference(Value value) throws RejectedMessageException {
        require(value instanceof Value.OfRRef, "expected a remote reference");
        return ((Value.OfRRef) value).value();
    }

    static List<Value> elements(Value value) throws RejectedMessageException {
        require(value instanceof Value.Items, "expected a list");
        return ((Value.Items) value).values();
    }

    /** The calls in an argument: a list of lists. */
    List<List<Value>> calls(int index) throws RejectedMessageException {
        List<List<Value>> calls = new ArrayList<>();
        for (Value call : list(index)) {
            calls.add(elements(call));
        }
        return calls;
    }

    static void require(boolean holds, String otherwise) throws RejectedMessageException {
        if (!holds) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, otherwise);
        }
    }

    /** Takes one count more of the storage of each tensor in a value: responding with a value gives one back. */
    static Value retain(Value value) {
        eachStorage(value, Storage::retain);
        return value;
    }

    /** Releases one count of the storage of each tensor in a value. */
    static void release(Value value) {
        eachStorage(value, Storage::release);
    }

    private static void eachStorage(Value value, Consumer<Storage> action) {
        if (value instanceof Value.OfTensor tensor) {
            action.accept(tensor.value().storage());
        } else if (value instanceof Value.OfSparse sparse) {
            action.accept(sparse.value().indices().storage());
            action.accept(sparse.value().values().storage());
        } else if (value instanceof Value.Items items) {
            items.values().forEach(element -> eachStorage(element, action));
        } else if (value instanceof Value.Tuple tuple) {
            tuple.values().forEach(element -> eachStorage(element, action));
        } else if (value instanceof Value.Dict dict) {
            dict.entries().values().forEach(element -> eachStorage(element, action));
        }
    }

    @Override
    public void close() {
        opened.forEach(Runnable::run);
    }
}
