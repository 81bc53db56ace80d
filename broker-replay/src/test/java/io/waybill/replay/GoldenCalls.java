package io.waybill.replay;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.exchange.Wrapping;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The calls that a golden home has on record, and the handlers that respond to them. A change of either needs a new golden home. */
final class GoldenCalls {

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int ENVELOPE = 0x50;
    private static final int INLINED = 6;
    private static final int ARCHIVED = 4096;

    private GoldenCalls() {}

    static ReplayScenario scenario() {
        return new ReplayScenario()
                .with(RecordedHome.SETTINGS)
                .handles("b", "SCRIPT_CALL", GoldenCalls::reference)
                .handles("b", "0x150", Wrapping.BLOCKING)
                .handles(
                        "b",
                        "text.inner",
                        (message, outbox) -> outbox.respond(Value.of(
                                message.int64("n") + " at " + outbox.clock().millis())))
                .handles("b", "tensor.ask", GoldenCalls::ask)
                .handles("c", "tensor.twice", GoldenCalls::twice);
    }

    /** Makes the calls: plain ones, one with each kind of tensor, a reference, and messages inside messages. */
    static void play(Worker caller) {
        Wrapping.add(caller, "text.*", ENVELOPE, 0);
        for (int n = 0; n < 3; n++) {
            Request request = Request.operation("b", "text.inner");
            request.body().int64("n", n);
            caller.call(request).close();
        }
        for (int elements : List.of(INLINED, ARCHIVED)) {
            Tensor tensor = tensor(caller.buffers().allocate(4L * elements), elements);
            Request request = Request.operation("b", "tensor.ask");
            request.body().tensor("tensor", tensor);
            caller.call(request).close();
            tensor.storage().release();
        }
        try (RRef made = caller.rpc().remote("b", new Invocation("test::make", List.of(Value.of(7)), Map.of()))) {
            made.toHere(LIMIT).close();
            caller.rpc()
                    .rpcSync("b", new Invocation("test::use", List.of(Value.of(made)), Map.of()), LIMIT)
                    .close();
        }
    }

    private static Tensor tensor(Storage storage, int elements) {
        ByteBuffer bytes = storage.bytes(0, 4 * elements);
        for (int i = 0; i < elements; i++) {
            bytes.putFloat(4 * i, i);
        }
        return Tensor.contiguous(DType.FLOAT32, new long[] {elements}, storage);
    }

    private static void reference(Message message, Outbox outbox) throws RejectedMessageException {
        Value first = message.invocation().positional().get(0);
        if (message.invocation().name().equals("test::make")) {
            outbox.respond(Value.of(2 * ((Value.Int) first).value()));
        } else {
            try (Response value = ((Value.OfRRef) first).value().localValue()) {
                outbox.respond(Value.of(((Value.Int) value.value()).value() + 1));
            }
        }
    }

    private static void ask(Message message, Outbox outbox) throws RejectedMessageException {
        Request request = Request.operation("c", "tensor.twice");
        request.body().tensor("tensor", message.tensor("tensor"));
        try (Response response = outbox.caller().call(request)) {
            Tensor twice = response.tensor("tensor");
            twice.storage().retain();
            outbox.response().tensor("tensor", twice);
        }
    }

    private static void twice(Message message, Outbox outbox) throws RejectedMessageException {
        Tensor given = message.tensor("tensor");
        int elements = Math.toIntExact(given.sizes()[0]);
        Storage storage = outbox.buffers().allocate(4L * elements);
        ByteBuffer from = given.storage().bytes(4 * given.storageOffset(), 4 * elements);
        ByteBuffer to = storage.bytes(0, 4 * elements);
        for (int i = 0; i < elements; i++) {
            to.putFloat(4 * i, 2 * from.getFloat(4 * i));
        }
        outbox.response().tensor("tensor", Tensor.contiguous(DType.FLOAT32, new long[] {elements}, storage));
    }
}
