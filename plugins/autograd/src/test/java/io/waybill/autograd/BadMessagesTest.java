package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.autograd.message.ContextMessage;
import io.waybill.autograd.message.ForwardEnvelope;
import io.waybill.autograd.message.ReferenceBackward;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages of distributed autograd that no worker should send: each is refused with a typed error, and leaves nothing behind. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class BadMessagesTest {

    private static final int WORKERS = 2;
    private static final int MUTANTS = 150;
    private static final long CONTEXT = 77;

    /** Responds to calls of a context with what the test sets. */
    @HandlesMessage("FORWARD_AUTOGRAD_REQ")
    private static final class BadResponses implements MessageHandler {

        private volatile ByteBuffer payload;
        private volatile long contextId;

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            contextId = ForwardEnvelope.request(message.payload()).contextId();
            outbox.respond(payload.duplicate());
        }
    }

    @TempDir
    private Path directory;

    private final LastReceived last = new LastReceived();
    private TestWorkers workers;
    private Autograd autograd;
    private Value leaf;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), WORKERS, worker -> worker.with(last));
        autograd = workers.autograd(0);
        leaf = workers.leaf(new long[] {2}, 1, 2);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (int i = 0; i < WORKERS; i++) {
            Autograd each = workers.autograd(i);
            each.contexts().forEach(context -> each.release(context.id()));
            Waits.until("no context is left", () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.release();
        Waits.until(
                () -> TestWorkers.NATIVES.liveCount() + " handles, " + TestWorkers.NATIVES.storageCount() + " storages",
                () -> TestWorkers.NATIVES.liveCount() == 0 && TestWorkers.NATIVES.storageCount() == 0);
        workers.close();
    }

    static Stream<Arguments> messages() {
        Value failure = BackwardMessage.failed(ErrorCode.REFUSED, "it failed");
        ValueEncoder inner = new ValueEncoder();
        TestWorkers.invocation("aten::add", 1, 2).encode(inner);
        return Stream.of(
                Arguments.of(
                        MessageType.FORWARD_AUTOGRAD_REQ,
                        new ForwardEnvelope(CONTEXT, 0, MessageType.SCRIPT_CALL, ByteBuffer.wrap(inner.toBytes()))
                                .encode()),
                Arguments.of(MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ, ContextMessage.encode(CONTEXT)),
                Arguments.of(MessageType.RREF_BACKWARD_REQ, new ReferenceBackward(CONTEXT, true, false).encode()),
                Arguments.of(MessageType.BACKWARD_AUTOGRAD_REQ, backward(BackwardMessage.Kind.FAILED, failure)),
                Arguments.of(MessageType.BACKWARD_AUTOGRAD_REQ, backward(BackwardMessage.Kind.DISCOVER, Value.NONE)),
                Arguments.of(MessageType.BACKWARD_AUTOGRAD_REQ, backward(BackwardMessage.Kind.HELD, Value.NONE)),
                Arguments.of(
                        MessageType.BACKWARD_AUTOGRAD_REQ,
                        backward(BackwardMessage.Kind.GRADIENTS, new Value.Items(List.of(Value.NONE, Value.NONE)))));
    }

    private static ByteBuffer backward(BackwardMessage.Kind kind, Value content) {
        return new BackwardMessage(CONTEXT, 1L << 48 | 5, 9, kind, false, false, content)
                .encode()
                .payload();
    }

    /** Truncated, longer, with flipped bits, and with numbers that are the highest. */
    private static byte[] mutant(byte[] good, Random random) {
        int way = random.nextInt(4);
        byte[] bytes = switch (way) {
            case 0 -> Arrays.copyOf(good, random.nextInt(good.length));
            case 1 -> Arrays.copyOf(good, good.length + 1 + random.nextInt(16));
            default -> good.clone();
        };
        if (way == 2) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
        } else if (way == 3) {
            int from = random.nextInt(bytes.length);
            Arrays.fill(bytes, from, Math.min(bytes.length, from + 4), (byte) (random.nextInt(2) * 0x80 + 0x7f));
        }
        return bytes;
    }

    @ParameterizedTest
    @MethodSource("messages")
    void aDamagedPayloadIsRefused(MessageType type, ByteBuffer payload) {
        byte[] good = new byte[payload.remaining()];
        payload.duplicate().get(good);
        Random random = new Random(Seeds.one(4));
        for (int i = 0; i < MUTANTS; i++) {
            ByteBuffer bad = ByteBuffer.wrap(mutant(good, random));
            try (Response response = workers.worker(0).call(Request.raw("worker1", type, bad, List.of()))) {
                assertThat(response.payload().remaining()).isLessThan(100); // a mutant that is another good message
            } catch (CallException e) {
                assertThat(e.code())
                        .as("%s with %s", type, e.getMessage())
                        .isIn(
                                ErrorCode.MALFORMED_BODY,
                                ErrorCode.REFUSED,
                                ErrorCode.UNKNOWN_TYPE,
                                ErrorCode.UNKNOWN_OPERATION,
                                ErrorCode.NO_MATCHING_SCHEMA);
            }
        }
        step();
    }

    private void step() {
        autograd.context(context -> {
            Value loss = workers.local("aten::sum", workers.call(0, 1, "aten::mul", leaf, leaf));
            autograd.backward(context, List.of(tensor(loss)));
        });
    }

    @Test
    void aCountBeyondThePayloadAllocatesNothing() {
        ByteBuffer good = backward(BackwardMessage.Kind.GRADIENTS, new Value.Items(List.of(Value.NONE)));
        byte[] bytes = new byte[good.remaining()];
        good.get(bytes);
        for (int at = 28; at + 4 <= bytes.length; at++) {
            byte[] huge = bytes.clone();
            Arrays.fill(huge, at, at + 4, (byte) 0x7f);
            Request request =
                    Request.raw("worker1", MessageType.BACKWARD_AUTOGRAD_REQ, ByteBuffer.wrap(huge), List.of());
            assertThatThrownBy(() -> workers.worker(0).call(request))
                    .isInstanceOf(CallException.class)
                    .extracting(failure -> ((CallException) failure).code())
                    .isEqualTo(ErrorCode.MALFORMED_BODY);
        }
    }

    @Test
    void aResponseWithGradientsFitsItsRequest() throws Exception {
        Value none = new Value.Items(List.of(Value.NONE));
        long pass = 1L << 48 | 5;
        BackwardMessage asking =
                new BackwardMessage(CONTEXT, pass, 9, BackwardMessage.Kind.GRADIENTS, false, false, false, true, none);
        BackwardMessage good =
                new BackwardMessage(CONTEXT, pass, 7, BackwardMessage.Kind.GRADIENTS, false, false, none);
        assertThat(BackwardMessage.decodeResponse(asking, good.encode().payload(), List.of()))
                .isEqualTo(good);
        BackwardMessage notAsking =
                new BackwardMessage(CONTEXT, pass, 9, BackwardMessage.Kind.GRADIENTS, false, false, none);
        refusedAsResponse(notAsking, good);
        refusedAsResponse(
                asking, new BackwardMessage(CONTEXT + 1, pass, 7, BackwardMessage.Kind.GRADIENTS, false, false, none));
        refusedAsResponse(
                asking, new BackwardMessage(CONTEXT, pass + 1, 7, BackwardMessage.Kind.GRADIENTS, false, false, none));
        refusedAsResponse(
                asking, new BackwardMessage(CONTEXT, pass, 7, BackwardMessage.Kind.DISCOVER, false, false, Value.NONE));
        refusedAsResponse(
                asking,
                new BackwardMessage(CONTEXT, pass, 7, BackwardMessage.Kind.GRADIENTS, false, false, true, false, none));
    }

    private static void refusedAsResponse(BackwardMessage request, BackwardMessage response) {
        assertThatThrownBy(() -> BackwardMessage.decodeResponse(
                        request, response.encode().payload(), List.of()))
                .isInstanceOf(RejectedMessageException.class)
                .hasMessageStartingWith("a BACKWARD_AUTOGRAD_RESP has gradients of the pass of its request");
    }

    @Test
    void gradientsThatDoNotFitAreRefused() {
        Value three = workers.leaf(false, new long[] {3}, 1, 2, 3);
        Value fitting = workers.leaf(false, new long[] {2}, 1, 1);
        Value complex = workers.local("aten::complex", fitting, fitting);
        autograd.context(context -> {
            Value product = workers.call(0, 1, "aten::mul", leaf, leaf);
            long sent = last.messageId();
            refused(context, sent, "wrong shape: expected [2], found [3]", List.of(three));
            refused(context, sent, "wrong number of gradients: expected 1, found 2", List.of(fitting, fitting));
            refused(context, sent, "wrong number of gradients: expected 1, found 0", List.of());
            refused(context, sent, "wrong type", List.of(complex));
            refused(context, sent + 1, "Could not find send function for autograd message id", List.of(fitting));
            autograd.backward(context, List.of(tensor(workers.local("aten::sum", product)))); // all is as before
        });
    }

    private void refused(long context, long messageId, String text, List<Value> gradients) {
        BackwardMessage.Encoded message = new BackwardMessage(
                        context,
                        workers.worker(0).broker().nextId(),
                        messageId,
                        BackwardMessage.Kind.GRADIENTS,
                        true,
                        true,
                        new Value.Items(gradients))
                .encode();
        CallException failure = catchThrowableOfType(
                CallException.class,
                () -> workers.worker(0)
                        .call(Request.raw(
                                "worker1", MessageType.BACKWARD_AUTOGRAD_REQ, message.payload(), message.tensors())));
        assertThat(failure).as(text).isNotNull().hasMessageStartingWith("Error on Node 1: ");
        assertThat(failure).hasMessageContaining(text);
    }

    @Test
    void aDamagedResponseFailsItsCallAlone() throws Exception {
        BadResponses responses = new BadResponses();
        Worker third = Waybill.connect(directory.resolve("home"), "worker7")
                .with(responses)
                .join();
        try (third) {
            autograd.context(context -> {
                ByteBuffer inner =
                        ByteBuffer.wrap(new ValueEncoder().value(Value.of(1)).toBytes());
                ByteBuffer good = new ForwardEnvelope(context, 3, MessageType.SCRIPT_RET, inner).encode();
                byte[] bytes = new byte[good.remaining()];
                good.duplicate().get(bytes);
                Random random = new Random(Seeds.one(5));
                for (int i = 0; i < MUTANTS; i++) {
                    responses.payload = ByteBuffer.wrap(mutant(bytes, random));
                    try {
                        workers.worker(0)
                                .rpc()
                                .rpcSync("worker7", TestWorkers.invocation("aten::mul", leaf, leaf))
                                .close();
                    } catch (CallException e) {
                        assertThat(e.code()).isIn(ErrorCode.MALFORMED_BODY, ErrorCode.REFUSED);
                    }
                }
                responses.payload = new ForwardEnvelope(context + 1, 3, MessageType.SCRIPT_RET, inner).encode();
                assertThatThrownBy(() -> workers.worker(0)
                                .rpc()
                                .rpcSync("worker7", TestWorkers.invocation("aten::mul", leaf, leaf)))
                        .hasMessageContaining("a FORWARD_AUTOGRAD_RESP of context " + (context + 1));
                Value loss = workers.local("aten::sum", workers.call(0, 1, "aten::mul", leaf, leaf));
                autograd.backward(context, List.of(tensor(loss)));
            });
        }
    }

    @Test
    void idsThatNoContextHasChangeNothing() {
        Tensor root = tensor(workers.local("aten::sum", leaf));
        assertThatThrownBy(() -> autograd.backward(12_345, List.of(root)))
                .hasMessage("Could not find autograd context with id: 12345");
        autograd.release(12_345);
        assertThatThrownBy(() -> autograd.gradients(12_345))
                .hasMessage("Could not find autograd context with id: 12345");
        step();
    }
}
