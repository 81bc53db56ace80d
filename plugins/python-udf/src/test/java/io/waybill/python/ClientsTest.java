package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.HandleTable;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.SegmentParts;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.TestBuffers;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that take part as workers, through the bundle in a node. */
@Timeout(300)
class ClientsTest {

    private static final Invocation COUNT = call("text.count", Map.of("text", Value.of("to be")));
    private static final Value TWO = new Value.Dict(Map.of(Value.of("words"), Value.of(2)));

    private static final Path SETPRIV = Path.of("/usr/bin/setpriv");

    @TempDir
    private Path directory;

    private final AtomicInteger counted = new AtomicInteger();

    private TestBroker broker;
    private Path socket;

    @BeforeEach
    void start() throws IOException {
        broker = TestBroker.start(directory, Path.of("target/classes"));
        broker.handle(TestBroker.SERVER, "text.count", (message, outbox) -> {
            counted.incrementAndGet();
            outbox.response().int64("words", message.text("text").split(" ").length);
        });
        broker.handle(TestBroker.SERVER, "test.fail", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        broker.handle(
                TestBroker.SERVER, "test.parent", (message, outbox) -> outbox.respond(Value.of(message.parentId())));
        try (Stream<Path> found = Files.find(broker.home(), 3, (path, is) -> path.endsWith("python.sock"))) {
            socket = found.findFirst().orElseThrow();
        }
    }

    @AfterEach
    void stop() throws IOException {
        broker.close();
        assertThat(socket).as("the socket of a gateway that has ended").doesNotExist();
    }

    private static Invocation call(String name, Map<String, Value> fields) {
        return new Invocation(name, List.of(), fields);
    }

    @Test
    void callOperationsWithPlainValues() throws Exception {
        try (TestProcess process = TestProcess.joined(socket, "py0")) {
            process.call(1, 0, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT);
            assertThat(process.value(process.read())).isEqualTo(TWO);
            process.call(2, 0, TestBroker.SERVER, MessageType.NAMED_CALL, call("test.fail", Map.of()));
            SocketFrame failed = process.read();
            assertThat(failed.exchange()).isEqualTo(2);
            assertThat(failed.error().code()).isEqualTo(ErrorCode.HANDLER_FAILED.number());
            assertThat(failed.error().text()).contains("planted");
            process.call(3, 0, "nobody", MessageType.NAMED_CALL, COUNT);
            assertThat(process.read().error().code()).isEqualTo(ErrorCode.UNKNOWN_WORKER.number());
            process.call(4, 0, "", MessageType.NAMED_CALL, call("gateway.workers", Map.of()));
            assertThat(process.value(process.read()).toString()).contains("py0").contains(TestBroker.SERVER);
            process.call(5, 0, "", MessageType.NAMED_CALL, call("gateway.nothing", Map.of()));
            assertThat(process.read().error().code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION.number());
        }
    }

    @Test
    void serveEachOtherAndCallOnBehalfOfARequest() throws Exception {
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            Storage storage = new TestBuffers().allocate(24);
            for (int i = 0; i < 3; i++) {
                storage.bytes(8L * i, 8).putDouble(i + 1);
            }
            Tensor tensor = new Tensor(DType.FLOAT64, new long[] {3}, new long[] {1}, 0, true, storage);
            one.call(
                    1,
                    0,
                    "two",
                    MessageType.PYTHON_CALL,
                    new Invocation("math:fsum", List.of(Value.of(tensor)), Map.of()));
            SocketFrame call = two.read();
            CallFrame head = CallFrame.ofCall(call);
            assertThat(head.type()).isEqualTo(MessageType.PYTHON_CALL.code());
            try (ProcessMessage message = CallFrame.message(call, two.shared)) {
                Tensor got = message.tensors().get(0);
                assertThat(got.requiresGrad()).isTrue();
                assertThat(got.storage().bytes(8, 8).getDouble()).isEqualTo(2);
                assertThat(Invocation.decode(message.payload(), message.tensors())
                                .name())
                        .isEqualTo("math:fsum");
            }
            two.call(1, call.exchange(), TestBroker.SERVER, MessageType.NAMED_CALL, call("test.parent", Map.of()));
            assertThat(two.value(two.read()))
                    .as("the parent of the nested call")
                    .isEqualTo(Value.of(head.number()));
            two.respond(call, MessageType.PYTHON_RET, Value.of(tensor));
            Tensor result = ((Value.OfTensor) one.value(one.read())).value();
            assertThat(result.sizes()).containsExactly(3);
            assertThat(result.storage().bytes(16, 8).getDouble()).isEqualTo(3);
        }
    }

    @Test
    void costOnlyTheirOwnCallsWhenTheyEnd() throws Exception {
        TestProcess ending = TestProcess.joined(socket, "py0");
        CompletableFuture<Response> call = broker.caller().callAsync(Request.operation("py0", "any.thing"));
        assertThat(ending.read().kind()).isEqualTo(SocketFrame.Kind.CALL);
        ending.close();
        assertThatThrownBy(() -> call.get(120, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST));
        Waits.until("the name can be used again", () -> {
            try (TestProcess again = TestProcess.joined(socket, "py0")) {
                again.call(1, 0, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT);
                return again.value(again.read()).equals(TWO);
            } catch (IOException e) {
                return false;
            }
        });
    }

    @Test
    void areNotWaitedForAfterTheDeadline() throws Exception {
        try (TestProcess process = TestProcess.joined(socket, "py0")) {
            Request request = Request.operation("py0", "any.thing").timeout(Duration.ofSeconds(4));
            CallException late = catchThrowableOfType(
                    CallException.class, () -> broker.caller().call(request));
            assertThat(late.code()).isEqualTo(ErrorCode.TIMED_OUT);
            SocketFrame call = process.read();
            SocketFrame cancel = process.read();
            assertThat(cancel.kind()).isEqualTo(SocketFrame.Kind.CANCEL);
            assertThat(cancel.exchange()).isEqualTo(call.exchange());
            process.respond(call, MessageType.NAMED_RET, Value.of("late"));
            process.call(1, 0, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT);
            assertThat(process.value(process.read())).isEqualTo(TWO);
        }
    }

    @Test
    void areRefusedUnderANameThatIsTaken() throws Exception {
        try (TestProcess first = TestProcess.joined(socket, "py0")) {
            assertThat(first).isNotNull();
            assertThatThrownBy(() -> TestProcess.joined(socket, "py0"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("py0");
            assertThatThrownBy(() -> TestProcess.joined(socket, "no name"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no name");
        }
    }

    @Test
    void keepObjectsUntilTheLastReferenceIsGone() throws Exception {
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            one.create(1, "two", call("test:make", Map.of()), 0);
            long handle = TestProcess.handle(one.read());
            SocketFrame creation = two.read();
            CallFrame head = CallFrame.ofCall(creation);
            assertThat(head.type()).isEqualTo(MessageType.PYTHON_REMOTE_CALL.code());
            assertThat(head.creates()).isTrue();
            two.keep(creation, 77);
            one.send(SocketFrame.of(SocketFrame.Kind.DROP, handle));
            assertForgets(two, 77);

            two.call(1, 0, "", MessageType.NAMED_CALL, call("gateway.reference.make", Map.of("object", Value.of(78))));
            two.send(SocketFrame.of(SocketFrame.Kind.DROP, TestProcess.handle(two.read())));
            assertForgets(two, 78);

            one.create(2, "nobody", call("test:make", Map.of()), 0);
            assertThat(one.read().error().code()).isEqualTo(ErrorCode.UNKNOWN_WORKER.number());
            one.call(3, 0, "", MessageType.NAMED_CALL, call("gateway.reference.info", Map.of()));
            assertThat(one.read().error().code()).isEqualTo(ErrorCode.MALFORMED_BODY.number());
        }
    }

    @Test
    void forgetObjectsThatCameTooLate() throws Exception {
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            one.create(1, "two", call("test:make", Map.of()), 4_000_000_000L);
            assertThat(TestProcess.handle(one.read())).isPositive();
            SocketFrame creation = two.read("CALL");
            assertThat(two.read("CANCEL").kind()).isEqualTo(SocketFrame.Kind.CANCEL);
            two.keep(creation, 77);
            assertForgets(two, 77);
        }
    }

    @Test
    void keepObjectsOfCreationsOnly() throws Exception {
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            one.call(1, 0, "two", MessageType.PYTHON_CALL, call("test:make", Map.of()));
            two.keep(two.read(), 77);
            assertThat(one.read().error().text()).contains("PYTHON_CALL", "with the number of an object");
            assertForgets(two, 77);

            one.create(2, "two", call("test:make", Map.of()), 0);
            long handle = TestProcess.handle(one.read());
            two.respond(two.read(), MessageType.PYTHON_RET, Value.of(1));
            one.callOn(3, "gateway.reference.fetch", handle);
            assertThat(one.read().error().text()).contains("PYTHON_REMOTE_CALL", "without the number of an object");

            one.create(4, "two", call("test:make", Map.of()), 0);
            one.callOn(5, "gateway.reference.fetch", TestProcess.handle(one.read()));
            two.respond(two.read(), MessageType.REMOTE_RET, Value.of(1));
            assertThat(one.read().error().text()).contains("without the number of an object");

            one.create(6, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT, 0);
            assertThat(one.read().error().text()).contains("NAMED_CALL", "no creating form");
        }
    }

    @Test
    void respondWithReferencesThatTheyHoldNoLonger() throws Exception {
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            for (int i = 1; i <= 50; i++) {
                two.call(
                        i,
                        0,
                        "",
                        MessageType.NAMED_CALL,
                        call("gateway.reference.make", Map.of("object", Value.of(i))));
                long made = TestProcess.handle(two.read());
                one.call(i, 0, "two", MessageType.NAMED_CALL, call("any.thing", Map.of()));
                two.respondAndDrop(two.read(), MessageType.NAMED_RET, made);
                one.send(SocketFrame.of(SocketFrame.Kind.DROP, TestProcess.handle(one.read())));
                assertForgets(two, i);
            }
        }
    }

    @Test
    void loseAMessageOfTooManyTensorsAndNotTheirConnection() throws Exception {
        ByteBuffer none = ByteBuffer.wrap(new ValueEncoder().value(Value.NONE).toBytes());
        try (TestProcess one = TestProcess.joined(socket, "one");
                TestProcess two = TestProcess.joined(socket, "two")) {
            Storage storage = one.shared.buffers().allocate(8);
            List<Tensor> many = Collections.nCopies(40_000, Tensor.contiguous(DType.UINT8, new long[] {8}, storage));
            one.send(new CallFrame(MessageType.NAMED_CALL.code(), 0, 0, 0, 0, "two")
                    .toCall(1, one.shared, none, many, List.of()));
            assertTooLarge(one.read("error of the call"), 1);
            one.call(2, 0, "two", MessageType.NAMED_CALL, call("any.thing", Map.of()));
            SocketFrame request = two.read("call");
            two.send(new CallFrame(MessageType.NAMED_RET.code(), 0, 0, 0, 0, "")
                    .toResult(request.exchange(), two.shared, none, many, List.of()));
            CompletableFuture<SocketFrame> next =
                    CompletableFuture.supplyAsync(() -> nextOf(two)); // writes what is queued
            assertTooLarge(one.read("error of the result"), 2);
            one.call(3, 0, "two", MessageType.NAMED_CALL, call("any.thing", Map.of()));
            two.respond(next.get(60, TimeUnit.SECONDS), MessageType.NAMED_RET, TWO);
            assertThat(one.value(one.read("result"))).isEqualTo(TWO);
            storage.release();
        }
    }

    private static SocketFrame nextOf(TestProcess process) {
        try {
            return process.read("call");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void assertTooLarge(SocketFrame end, long exchange) throws IOException {
        assertThat(end.kind()).isEqualTo(SocketFrame.Kind.FAILED);
        assertThat(end.exchange())
                .as("a frame without an exchange ends the connection")
                .isEqualTo(exchange);
        assertThat(end.error().text()).contains("at most 32768 tensors, this one 40000");
        assertThat(end.error().code()).isEqualTo(ErrorCode.TOO_LARGE.number());
    }

    private static void assertForgets(TestProcess process, long number) throws IOException {
        SocketFrame forget = process.read("FORGET of object " + number);
        assertThat(forget.kind()).isEqualTo(SocketFrame.Kind.FORGET);
        assertThat(forget.numbers()).containsExactly(number);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "length",
                "kind",
                "payload",
                "count",
                "storage",
                "region",
                "part",
                "place",
                "unmap",
                "tensor",
                "reference",
                "release",
                "drop",
                "hello",
                "exchange"
            })
    void areDisconnectedForALie(String lie) throws Exception {
        try (TestProcess process = TestProcess.joined(socket, "py0");
                TestProcess other = TestProcess.joined(socket, "other")) {
            process.send(frame(lie));
            SocketFrame end = process.read();
            assertThat(end.kind()).isEqualTo(SocketFrame.Kind.FAILED);
            assertThat(end.exchange()).isZero();
            assertThat(end.error().code()).isEqualTo(ErrorCode.MALFORMED_BODY.number());
            assertThat(process.read()).isNull();
            other.call(1, 0, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT);
            assertThat(other.value(other.read())).isEqualTo(TWO);
        }
    }

    /** Returns a CALL with an empty message, in which one thing is wrong. */
    private static ByteBuffer frame(String lie) {
        ByteBuffer frame = SocketFrame.start(SocketFrame.Kind.CALL, 1, 200);
        frame.putLong(0x140).putLong(0).putLong(0);
        int message = frame.position();
        switch (lie) {
            case "length" -> frame.putInt(0, Integer.MAX_VALUE);
            case "kind" -> frame.put(4, (byte) 77);
            case "exchange" -> frame.putLong(8, -1);
            case "payload" -> frame.putInt(message, -1);
            case "count" -> frame.putShort(message + 4, (short) -1);
            case "storage" -> frame.putShort(message + 4, (short) 1).putLong(message + 12, 1L << 40);
            case "region" ->
                frame.putShort(message + 4, (short) 1).putLong(message + 12, 8).put(message + 28, (byte) 1);
            case "part" ->
                frame.putShort(message + 4, (short) 1).putLong(message + 12, 8).put(message + 28, (byte) 2);
            case "place" ->
                frame.putShort(message + 4, (short) 1).putLong(message + 12, 8).put(message + 28, (byte) 4);
            case "unmap" -> {
                return SocketFrame.of(SocketFrame.Kind.UNMAP, 1);
            }
            case "tensor" -> frame.putShort(message + 6, (short) 1);
            case "reference" -> frame.putShort(message + 8, (short) 1);
            case "release" -> {
                return SocketFrame.of(SocketFrame.Kind.RELEASE, 64);
            }
            case "drop" -> {
                return SocketFrame.of(SocketFrame.Kind.DROP, 1);
            }
            default -> {
                return SocketFrame.of(SocketFrame.Kind.HELLO, Value.of(1));
            }
        }
        return frame.rewind();
    }

    @Test
    void beginWithHello() throws Exception {
        try (TestProcess process = new TestProcess(socket)) {
            process.send(SocketFrame.of(SocketFrame.Kind.DROP, 1));
            assertThat(process.read().error().text()).contains("HELLO");
            assertThat(process.read()).isNull();
        }
        try (TestProcess process = new TestProcess(socket)) {
            Map<Value, Value> hello = TestProcess.hello("py0");
            hello.put(Value.of("role"), Value.of("pool"));
            hello.put(Value.of("token"), Value.of("guessed"));
            process.send(SocketFrame.of(SocketFrame.Kind.HELLO, new Value.Dict(hello)));
            assertThat(process.read().error().text()).contains("token");
        }
    }

    @Test
    void areNotReadWhenTheyBelongToAnotherUser() throws Exception {
        assumeTrue(
                System.getProperty("user.name").equals("root") && Files.isExecutable(SETPRIV),
                "another user needs root and " + SETPRIV);
        assertThat(stranger())
                .as("with the mode that a gateway gives its socket")
                .isEqualTo("not allowed");
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (Path each = socket.getParent(); !each.equals(directory.getParent()); each = each.getParent()) {
            Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        String said = stranger();
        assumeTrue(!said.equals("not allowed"), "another user can't reach " + directory);
        assertThat(said).isEqualTo("bytes 0");
        try (TestProcess own = TestProcess.joined(socket, "py0")) {
            own.call(1, 0, TestBroker.SERVER, MessageType.NAMED_CALL, COUNT);
            assertThat(own.value(own.read())).isEqualTo(TWO);
        }
    }

    private String stranger() throws Exception {
        Path script = Path.of("src/test/python/stranger.py"); // which the other user may not read
        Process process = new ProcessBuilder(
                        SETPRIV.toString(),
                        "--reuid=65534",
                        "--regid=65534",
                        "--clear-groups",
                        "/usr/bin/python3",
                        "-c",
                        Files.readString(script),
                        socket.toString())
                .redirectErrorStream(true)
                .start();
        try {
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void endInTheMiddleOfAFrame() throws Exception {
        ValueEncoder encoder = new ValueEncoder();
        COUNT.encode(encoder);
        CallFrame.Shared shared =
                new CallFrame.Shared(null, new SegmentParts(false), new HandleTable(), new TestBuffers());
        ByteBuffer whole = new CallFrame(MessageType.NAMED_CALL.code(), 0, 0, 0, 0, TestBroker.SERVER)
                .toCall(1, shared, ByteBuffer.wrap(encoder.toBytes()), List.of(), List.of());
        for (int length : new int[] {1, 15, 16, 17, 39, 45, whole.remaining() - 1}) {
            try (TestProcess process = TestProcess.joined(socket, "py0")) { // the name is free again each time
                process.send(whole.duplicate().limit(length));
            }
        }
        try (TestProcess process = TestProcess.joined(socket, "py0")) {
            process.send(whole);
            assertThat(process.value(process.read())).isEqualTo(TWO);
            assertThat(counted.get()).as("calls that came whole").isEqualTo(1);
        }
    }

    @Test
    void leaveInOrder() throws Exception {
        for (int i = 0; i < 2; i++) { // the name is free when they have left
            try (TestProcess process = TestProcess.joined(socket, "py0")) {
                process.send(SocketFrame.empty(SocketFrame.Kind.LEAVE, 0));
                assertThat(process.read().kind()).isEqualTo(SocketFrame.Kind.LEAVE);
                assertThat(process.read()).isNull();
            }
        }
    }
}
