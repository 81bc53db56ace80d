package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CULPRIT;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Handlers of a message inside another one, and handlers that dispatch one, that misbehave. */
@Timeout(120)
class DispatchRowsTest {

    private static final String OUTER = "row.outer";

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> handlers() {
        return Row.of(MessageHandler.class);
    }

    private static Request inner(Message message) {
        Request inner = Request.operation("inside", CALL);
        inner.body().tensor("t", message.tensors().get(0));
        return inner;
    }

    private static ByteBuffer payload(Request inner) {
        return ByteBuffer.wrap(inner.payloadArray(), 0, inner.payloadLength());
    }

    /** Dispatches, waits, and passes the response on. */
    private static MessageHandler waiting(Culprit culprit) {
        return (message, outbox) -> {
            Request inner = inner(message);
            try (Response response =
                    outbox.dispatch(MessageType.NAMED_CALL, payload(inner), inner.tensors(), List.of())) {
                culprit.in("handle", message, message, outbox, response);
                response.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.respond(ByteBuffer.allocate(1), response.tensors());
            }
        };
    }

    /** Dispatches, and passes the response on later. */
    private static MessageHandler deferring(Culprit culprit) {
        return (message, outbox) -> {
            Request inner = inner(message);
            LateResponse late = outbox.later();
            CompletableFuture<Response> response =
                    outbox.dispatchAsync(MessageType.NAMED_CALL, payload(inner), inner.tensors(), List.of());
            response.whenComplete((arrived, failure) -> pass(arrived, failure, late, outbox, culprit));
        };
    }

    private static void pass(Response response, Throwable failure, LateResponse late, Outbox outbox, Culprit culprit) {
        if (failure != null) {
            ErrorCode code = failure instanceof CallException known ? known.code() : ErrorCode.UNKNOWN;
            late.fail(code, "the inner message failed");
            return;
        }
        try (response) {
            culprit.in("handle", response, outbox, response);
            response.tensors().forEach(tensor -> tensor.storage().retain());
            late.send(ByteBuffer.allocate(1), response.tensors());
        }
    }

    private static MessageHandler misbehaving(Culprit culprit) {
        return (message, outbox) -> {
            culprit.in("handle", message, message, outbox);
            ForeignNode.echo(message, outbox);
        };
    }

    private static Culprit none(Row row) {
        return new Culprit(new Row(row.on(), "none", row.how()));
    }

    @ParameterizedTest
    @MethodSource("handlers")
    void anInnerHandlerCostsItsOwnCallOnly(Row row) throws Exception {
        for (MessageHandler outer : List.of(waiting(none(row)), deferring(none(row)))) {
            Culprit culprit = new Culprit(row);
            runs(row, culprit, outer, node.workers.handle(node.handlers, CALL, misbehaving(culprit)));
            Culprit onPoller = new Culprit(row);
            if (row.how() != Misbehaviour.HANG) {
                runs(row, onPoller, outer, node.workers.handleOnPoller(node.handlers, CALL, misbehaving(onPoller)));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("handlers")
    void aHandlerThatDispatchesCostsItsOwnCallOnly(Row row) throws Exception {
        Culprit waiting = new Culprit(row);
        runs(row, waiting, waiting(waiting), node.workers.handle(node.handlers, CALL, ForeignNode::echo));
        Culprit deferring = new Culprit(row);
        runs(row, deferring, deferring(deferring), node.workers.handle(node.handlers, CALL, ForeignNode::echo));
    }

    private static void runs(Row row, Culprit culprit, MessageHandler outer, HandlerRegistry.Registration inner)
            throws Exception {
        long before = node.handlers.errors().of(CULPRIT.name());
        HandlerRegistry.Registration envelope = node.workers.handle(node.handlers, OUTER, outer);
        node.run(row, culprit, OUTER, new ForeignNode.Outcomes(), false);
        for (HandlerRegistry.Registration each : List.of(envelope, inner)) {
            assertThat(each.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("%s: requests that an update would wait for", row)
                    .isZero();
        }
        assertThat(node.handlers.errors().of(CULPRIT.name())).isGreaterThanOrEqualTo(before);
    }
}
