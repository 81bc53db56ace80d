package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Live tensors in messages that a handler dispatches from inside its own, between two real workers: the handler of an envelope makes leaves of
 * the tensors that arrived, hands them to the operators, and differentiates the result.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class DispatchedNativesTest {

    private static final Calls CALLS = new Calls();
    private static final NativeTensors NATIVES = CALLS.natives;
    private static final int LARGE = 1 << 18; // elements: 1 MiB, through a segment

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final List<NativeTensor> leaves = new CopyOnWriteArrayList<>();
    private final List<NativeTensor> results = new CopyOnWriteArrayList<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private final HandlerRegistry handlers = registry();
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        Home home = Home.open(directory.resolve("home"), host);
        server = join(home, "server", handlers);
        caller = join(home, "caller", registry());
    }

    private HandlerRegistry registry() {
        return new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
    }

    private static Worker join(Home home, String name, HandlerRegistry registry) throws IOException {
        WorkerSettings settings =
                WorkerSettings.builder().defaultTimeout(Duration.ofSeconds(60)).build();
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), settings, registry);
        worker.ready(Map.of());
        return worker;
    }

    @AfterEach
    void leavesNothing() throws IOException {
        released.countDown();
        forget();
        try {
            Waits.until(
                    () -> NATIVES.liveCount() + " handles and " + NATIVES.storageCount() + " storages",
                    () -> NATIVES.liveCount() == 0 && NATIVES.storageCount() == 0);
            Waits.until(
                    "nothing is in flight",
                    () -> handlers.statuses().stream().allMatch(status -> status.inFlight() == 0));
        } finally {
            caller.close();
            server.close();
        }
    }

    private void forget() {
        leaves.forEach(NativeTensor::release);
        results.forEach(NativeTensor::release);
        leaves.clear();
        results.clear();
    }

    /** Waits for this many: a handler releases what it has of a call after the response. */
    private static void awaitStorages(String what, int count) {
        Waits.until(() -> what + ": " + NATIVES.storageCount() + " storages", () -> NATIVES.storageCount() == count);
    }

    private void handle(String key, MessageHandler handler, boolean nonBlocking) {
        Provider provider = new Provider("test-" + key, "1.0.0");
        handlers.add(new HandlerSpec(
                List.of(HandlerKey.parse(key)),
                handler,
                nonBlocking,
                provider,
                0,
                DispatchedNativesTest.class.getClassLoader(),
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    // ---- the handlers of envelopes

    /** Makes a leaf of the first tensor, and keeps the live result. */
    private final MessageHandler differentiating = (message, outbox) -> {
        List<Tensor> tensors = described(message);
        try (Response inner =
                outbox.dispatch(MessageType.SCRIPT_CALL, message.payload(), tensors, message.references())) {
            keep(inner);
            outbox.respond(inner.payload(), counted(inner.tensors()), inner.references());
        } finally {
            release(tensors);
        }
    };

    private final MessageHandler differentiatingLater = (message, outbox) -> {
        LateResponse late = outbox.later();
        List<Tensor> tensors = described(message);
        outbox.dispatchAsync(MessageType.SCRIPT_CALL, message.payload(), tensors, message.references())
                .whenComplete((inner, failure) -> {
                    if (failure instanceof CallException error) {
                        late.fail(error.code(), error.getMessage());
                        return;
                    }
                    try (inner) {
                        keep(inner);
                        late.send(inner.payload(), counted(inner.tensors()), inner.references());
                    }
                });
        release(tensors); // the inner message has its own counts
    };

    /** Hands on what is inside, as an envelope does that needs no gradients. */
    private static void passOn(Message message, Outbox outbox) throws RejectedMessageException {
        try (Response inner =
                outbox.dispatch(MessageType.SCRIPT_CALL, message.payload(), message.tensors(), message.references())) {
            outbox.respond(inner.payload(), counted(inner.tensors()), inner.references());
        }
    }

    private List<Tensor> described(Message message) throws RejectedMessageException {
        try (PointerScope scope = new PointerScope()) {
            List<NativeTensor> live = NATIVES.of(message.tensors());
            try {
                live.get(0).tensor().set_requires_grad(true);
                leaves.add(live.get(0).retain());
                return NATIVES.describe(live).stream().map(Calls::tensor).toList();
            } finally {
                live.forEach(NativeTensor::release);
            }
        }
    }

    private void keep(Response inner) {
        results.add(NATIVES.find(inner.tensors().get(0)).orElseThrow(() -> new AssertionError("without a graph")));
    }

    private static List<Tensor> counted(List<Tensor> tensors) {
        tensors.forEach(tensor -> tensor.storage().retain());
        return tensors;
    }

    private static void release(List<Tensor> tensors) {
        tensors.forEach(tensor -> tensor.storage().release());
    }

    // ---- calls

    private static Request request(int kind, String operator, Object... arguments) {
        ValueEncoder encoder = new ValueEncoder();
        List<Value> values =
                java.util.Arrays.stream(arguments).map(Calls::value).toList();
        new Invocation(operator, values, Map.of()).encode(encoder);
        ByteBuffer payload = ByteBuffer.wrap(encoder.array(), 0, encoder.length());
        return Request.raw("server", MessageType.userRequest(kind), payload, List.copyOf(encoder.tensors()));
    }

    private double[] call(int kind, String operator, Object... arguments) {
        try (Response response = caller.call(request(kind, operator, arguments))) {
            Value value = new ValueDecoder(response.payload(), response.tensors()).value();
            assertThat(NATIVES.find(tensor(value)))
                    .as("a graph in another worker")
                    .isEmpty();
            return elements(value);
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    private static float[] gradient(NativeTensor of, NativeTensor by) {
        try (PointerScope scope = new PointerScope()) {
            org.bytedeco.pytorch.Tensor gradient = torch.grad(
                            new TensorVector(of.tensor().sum()), new TensorVector(by.tensor()))
                    .get(0)
                    .contiguous();
            float[] elements = new float[(int) gradient.numel()];
            new FloatPointer(gradient.data_ptr()).get(elements);
            return elements;
        }
    }

    @ParameterizedTest
    @CsvSource({
        "blocking, true, false", "blocking, false, false", "blocking, true, true",
        "async, true, false", "async, false, false", "async, false, true"
    })
    void aDispatchedOperatorContinuesTheGraph(String form, boolean innerOnPoller, boolean intercepted) {
        handle("0x150", form.equals("async") ? differentiatingLater : differentiating, false);
        handle("SCRIPT_CALL", CALLS.handler, innerOnPoller);
        if (intercepted) {
            HandlerInterceptor interceptor = (message, outbox) -> message.tensors();
            server.interceptors().handlers().add(InterceptorSpec.ofAll(interceptor, new Provider("around", "1")));
        }
        for (int i = 1; i <= 20; i++) {
            assertThat(call(0x50, "aten::mul", floats(new long[] {2}, 1, 2), floats(new long[] {2}, i, 3)))
                    .containsExactly(i, 6);
            assertThat(gradient(results.get(0), leaves.get(0))).containsExactly(i, 3);
            forget();
        }
    }

    @Test
    void aGraphGoesOnFromOneCallToTheNext() {
        handle("0x150", differentiating, false);
        handle(
                "0x151", // its first argument is the result of the call before
                (message, outbox) -> {
                    List<Value> described = NATIVES.describe(results);
                    List<Tensor> tensors = described.stream().map(Calls::tensor).toList();
                    try (Response inner = outbox.dispatch(
                            MessageType.SCRIPT_CALL, message.payload(), tensors, message.references())) {
                        keep(inner);
                        outbox.respond(inner.payload(), counted(inner.tensors()), inner.references());
                    } finally {
                        release(tensors);
                    }
                },
                false);
        handle("SCRIPT_CALL", CALLS.handler, true);
        call(0x50, "aten::mul", floats(new long[] {2}, 1, 2), 5);
        assertThat(call(0x51, "aten::mul", floats(new long[] {2}, 0, 0), 7)).containsExactly(35, 70);
        assertThat(gradient(results.get(1), leaves.get(0))).containsExactly(35, 35);
    }

    @Test
    void aGraphGoesThroughAnEnvelopeInside() {
        handle(
                "0x152",
                (message, outbox) -> {
                    List<Tensor> tensors = described(message);
                    try (Response inner = outbox.dispatch(
                            MessageType.userRequest(0x53), message.payload(), tensors, message.references())) {
                        keep(inner);
                        outbox.respond(inner.payload(), counted(inner.tensors()), inner.references());
                    } finally {
                        release(tensors);
                    }
                },
                false);
        handle("0x153", DispatchedNativesTest::passOn, false);
        handle("SCRIPT_CALL", CALLS.handler, true);
        call(0x52, "aten::mul", floats(new long[] {2}, 1, 2), floats(new long[] {2}, 4, 3));
        assertThat(gradient(results.get(0), leaves.get(0))).containsExactly(4, 3);
    }

    @Test
    void theBytesOfAMessageStayAsLongAsTheGraphThatSavedThem() {
        handle("0x150", differentiating, false);
        handle("SCRIPT_CALL", CALLS.handler, true);
        Tensor large = floats(new long[] {LARGE}, new double[LARGE]);
        for (int i = 0; i < 200; i++) { // more than there is room for, if the segments were not used again
            call(0x50, "aten::mul", large, floats(new long[] {LARGE}, new double[LARGE]));
            awaitStorages("the graph saved both tensors", 2);
            assertThat(gradient(results.get(0), leaves.get(0))).hasSize(LARGE).containsOnly(0f);
            forget();
            awaitStorages("they went with it", 0);
        }
    }

    @Test
    void aFailureInsideLeavesNoNativeTensor() {
        handle("0x150", differentiating, false);
        handle("0x151", differentiatingLater, false);
        handle("SCRIPT_CALL", CALLS.handler, true);
        for (int kind : new int[] {0x50, 0x51}) {
            Request bad = request(kind, "aten::mm", floats(new long[] {2}, 1, 2), floats(new long[] {2}, 1, 2));
            assertThatThrownBy(() -> caller.call(bad))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED));
        }
        assertThat(results).isEmpty();
    }

    @Test
    void aResultThatComesAfterTheDeadlineIsReleased() {
        handle("0x150", differentiating, false);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        handle(
                "SCRIPT_CALL",
                (message, outbox) -> {
                    begun.countDown();
                    try {
                        released.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    CALLS.handler.handle(message, outbox);
                    ended.countDown();
                },
                false);
        Waits.until("the operator is called", () -> {
            CompletableFuture<Response> late = caller.callAsync(
                    request(0x50, "aten::mul", floats(new long[] {2}, 1, 2), 3).timeout(Duration.ofMillis(500)));
            assertThat(late.handle((response, failure) -> failure).join()).isNotNull();
            return begun.getCount() == 0;
        });
        Waits.until(
                "the envelope's handler has given up",
                () -> handlers.statuses().stream()
                        .filter(status -> status.key().equals(HandlerKey.parse("0x150")))
                        .allMatch(status -> status.inFlight() == 0));
        released.countDown();
        Waits.until("the operator returned", () -> ended.getCount() == 0);
        assertThat(results).isEmpty(); // the rest is checked at the end of each test
    }

    @Test
    void manyCallsLeaveNothing() {
        handle("0x150", differentiating, false);
        handle("SCRIPT_CALL", CALLS.handler, true);
        for (int i = 0; i < 500; i++) {
            call(0x50, "aten::mul", floats(new long[] {2}, 1, 2), floats(new long[] {2}, 3, 4));
            forget();
        }
        awaitStorages("nothing is left", 0);
        Waits.until(() -> NATIVES.liveCount() + " handles", () -> NATIVES.liveCount() == 0);
    }
}
