package io.waybill.python.link;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.SegmentParts;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** Operations of the gateway for processes. Thread-safe. */
final class GatewayOperations {

    private static final String PREFIX = "gateway.";

    private final Broker broker;
    private final CallFrame.Shared shared;
    private final Control control;
    private final RemoteObjects references;

    GatewayOperations(ProcessLink link, Broker broker, CallFrame.Shared shared, Control control) {
        this.references = new RemoteObjects(link, broker);
        this.broker = broker;
        this.shared = shared;
        this.control = control;
    }

    /**
     * Runs an operation.
     *
     * @param responds receives the frame of the result, now or later
     * @param outgoing calls to which the operation may belong
     */
    void run(
            CallFrame head,
            ProcessMessage message,
            Consumer<ByteBuffer> responds,
            long exchange,
            OutgoingCalls outgoing)
            throws RejectedMessageException {
        if (head.type() != MessageType.NAMED_CALL.code()) {
            throw new RejectedMessageException(
                    ErrorCode.UNKNOWN_TYPE,
                    "the gateway itself takes calls of type NAMED_CALL, not 0x" + Integer.toHexString(head.type()));
        }
        Invocation call = Invocation.decode(message.payload(), message.tensors(), message.references());
        switch (call.name().startsWith(PREFIX) ? call.name().substring(PREFIX.length()) : "") {
            case "workers" -> respond(exchange, responds, dict("workers", workers()), List.of());
            case "next_id" -> respond(exchange, responds, dict("id", Value.of(broker.nextId())), List.of());
            case "part.allocate" -> allocate(call, responds, exchange);
            case "shutdown" -> shutdown(call, responds, exchange, outgoing.threads());
            case "reference.make" -> {
                try (RRef made = references.make(call)) {
                    respond(exchange, responds, Value.NONE, List.of(made));
                }
            }
            case "reference.fetch" ->
                references
                        .fetch(call, outgoing.caller(head), head.timeNs())
                        .whenComplete((value, failure) -> outgoing.ended(exchange, value, failure));
            case "reference.local" -> later(references.local(call, head.timeNs()), responds, exchange);
            case "reference.wait" -> later(references.confirmation(call, head.timeNs()), responds, exchange);
            case "reference.info" -> respond(exchange, responds, references.info(call), List.of());
            case "reference.debug" -> respond(exchange, responds, references.debug(), List.of());
            default ->
                throw new RejectedMessageException(
                        ErrorCode.UNKNOWN_OPERATION, "the gateway has no operation " + call.name());
        }
    }

    private void later(CompletableFuture<Value> outcome, Consumer<ByteBuffer> responds, long exchange) {
        outcome.whenComplete((value, failure) -> {
            if (failure == null) {
                respond(exchange, responds, value, List.of());
            } else {
                responds.accept(SocketFrame.of(exchange, ProcessError.of(failure)));
            }
        });
    }

    private static Value dict(String name, Value value) {
        return new Value.Dict(Map.of(Value.of(name), value));
    }

    private Value workers() {
        Optional<Path> directory = broker.directory().map(Path::getParent);
        List<Incarnation> live = new ArrayList<>(broker.peers());
        live.add(0, broker.self());
        List<Value> workers = new ArrayList<>();
        for (Incarnation each : live) {
            Map<Value, Value> worker = new LinkedHashMap<>();
            worker.put(Value.of("id"), Value.of(each.worker().id()));
            worker.put(Value.of("name"), Value.of(each.worker().name()));
            worker.put(Value.of("epoch"), Value.of(each.epoch()));
            directory
                    .flatMap(all -> MemberFile.of(all, each))
                    .ifPresent(member -> worker.put(Value.of("member"), member));
            workers.add(new Value.Dict(worker));
        }
        return new Value.Items(workers);
    }

    private void shutdown(Invocation call, Consumer<ByteBuffer> responds, long exchange, Executor threads)
            throws RejectedMessageException {
        if (!(call.named().get("limit_ms") instanceof Value.Int limit)
                || !(call.named().get("workers") instanceof Value.Items workers)
                || !workers.values().stream().allMatch(Value.Text.class::isInstance)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "gateway.shutdown takes workers, a list of names, and limit_ms, an int");
        }
        List<String> names = workers.values().stream()
                .map(name -> ((Value.Text) name).value())
                .toList();
        threads.execute(() -> {
            try {
                MemberFile.withdraw(broker); // before any member can have left and rejoined in another group
                String left = control.shutdown(Duration.ofMillis(Math.max(0, limit.value())), names);
                respond(exchange, responds, dict("left", Value.of(left)), List.of());
            } catch (IOException | RuntimeException e) { // for example because the worker is closed
                responds.accept(SocketFrame.of(exchange, ProcessError.of(e)));
            }
        });
    }

    /** Responds with memory in a segment, for tensors that the process will send. */
    private void allocate(Invocation call, Consumer<ByteBuffer> responds, long exchange)
            throws RejectedMessageException {
        if (!shared.parts().areUsable()
                || !(call.named().get("size") instanceof Value.Int size)
                || size.value() < SegmentParts.MIN_BYTES) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY,
                    "gateway.part.allocate takes size, an int from " + SegmentParts.MIN_BYTES
                            + " on, of a process that uses parts");
        }
        Storage storage = shared.buffers().allocate(size.value());
        try {
            Tensor none =
                    // without elements, which the process writes first
                    Tensor.contiguous(DType.UINT8, new long[] {0}, storage);
            respond(exchange, responds, Value.NONE, List.of(none), List.of());
        } finally {
            storage.release();
        }
    }

    private void respond(long exchange, Consumer<ByteBuffer> responds, Value value, List<RRef> made) {
        respond(exchange, responds, value, List.of(), made);
    }

    private void respond(
            long exchange, Consumer<ByteBuffer> responds, Value value, List<Tensor> tensors, List<RRef> made) {
        byte[] payload = new ValueEncoder().value(value).toBytes();
        CallFrame head = new CallFrame(
                MessageType.NAMED_RET.code(), 0, broker.self().worker().id(), 0, 0, "");
        try {
            responds.accept(head.toResult(exchange, shared, ByteBuffer.wrap(payload), tensors, made));
        } catch (RejectedMessageException e) {
            responds.accept(SocketFrame.of(exchange, ProcessError.of(e)));
        }
    }
}
