package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.autograd.optim.DistributedOptimizer;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Parameters that several workers own, and the program that trains them. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class DistributedOptimizerTest {

    private static final OptimizerSettings SGD = new OptimizerSettings.Sgd(0.1);
    private static final double[] FIRST = {0.5, -1.25, 2};
    private static final double[] SECOND = {1.5, 0.75, -0.3125};

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private Autograd autograd;
    private final List<RRef> references = new ArrayList<>();

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), 3, worker -> worker.with(new LiveParameters()));
        autograd = workers.autograd(0);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        references.forEach(RRef::close);
        for (int i = 0; i < 3; i++) {
            Autograd each = workers.autograd(i);
            Waits.until(
                    "no context and no optimizer is left",
                    () -> each.contexts().isEmpty() && each.optimizers().count() == 0);
        }
        workers.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("bytes of messages are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    /** A float64 tensor. */
    private Value doubles(double... elements) {
        List<Value> values = Arrays.stream(elements).<Value>mapToObj(Value::of).toList();
        Map<String, Value> type = Map.of("dtype", Value.of(DType.FLOAT64));
        try {
            return workers.keep(
                    TestWorkers.ENGINE.run(new Invocation("aten::tensor", List.of(new Value.Items(values)), type)));
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    /** A parameter that an operator created: a plain value that requires a gradient. */
    private RRef parameter(int owner, double... elements) {
        io.waybill.api.tensor.Tensor plain = tensor(doubles(elements));
        io.waybill.api.tensor.Tensor leaf = new io.waybill.api.tensor.Tensor(
                plain.dtype(), plain.sizes(), plain.strides(), plain.storageOffset(), true, plain.storage());
        return kept(workers.worker(0).rpc().remote("worker" + owner, invocation("aten::clone", leaf)));
    }

    private RRef kept(RRef reference) {
        references.add(reference);
        return reference;
    }

    /** Responds with a reference to a live leaf, as a handler that uses libtorch itself would. */
    @HandlesMessage("test.parameter")
    @SuppressWarnings("try")
    private static final class LiveParameters implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            try (PointerScope scope = new PointerScope()) {
                NativeTensor plain = TestWorkers.NATIVES.of(message.tensor("value"));
                Tensor leaf = plain.tensor().detach().clone();
                plain.release();
                leaf.set_requires_grad(true);
                NativeTensor handle = TestWorkers.NATIVES.hold(leaf);
                Value value = TestWorkers.NATIVES.describe(handle);
                handle.release();
                outbox.response().value("parameter", Value.of(outbox.rpc().rref(value)));
                tensor(value).storage().release();
            }
        }
    }

    private RRef liveParameter(int owner, double... elements) {
        Request request = Request.operation("worker" + owner, "test.parameter");
        request.body().value("value", doubles(elements));
        try (Response response = workers.worker(0).call(request)) {
            return kept(((Value.OfRRef) response.value("parameter")).value().retain());
        }
    }

    /** The loss sum((a * b - a)²) of the values here. */
    private Value loss(RRef first, RRef second) {
        try (Response a = first.toHere();
                Response b = second.toHere()) {
            Value product = workers.local("aten::mul", a.value(), b.value());
            Value error = workers.local("aten::sub", product, a.value());
            return workers.local("aten::sum", workers.local("aten::mul", error, error));
        }
    }

    private int step(DistributedOptimizer optimizer, RRef first, RRef second, BackwardMode mode) {
        int[] updated = new int[1];
        autograd.context(context -> {
            autograd.backward(context, List.of(tensor(loss(first, second))), false, mode);
            updated[0] = optimizer.step(context);
        });
        workers.release();
        return updated[0];
    }

    private static double[] value(RRef reference) {
        try (Response response = reference.toHere()) {
            return elements(tensor(response.value()));
        }
    }

    static Stream<Arguments> algorithms() {
        return Stream.of(
                Arguments.of(new OptimizerSettings.Sgd(0.05)),
                Arguments.of(new OptimizerSettings.Sgd(0.05, 0.9, 0, 0.01, true)),
                Arguments.of(new OptimizerSettings.Adam(0.02)),
                Arguments.of(new OptimizerSettings.AdamW(0.02)));
    }

    @ParameterizedTest
    @MethodSource("algorithms")
    void givesTheBitsOfLibtorchsOptimizers(OptimizerSettings settings) {
        for (BackwardMode mode : BackwardMode.values()) {
            RRef first = parameter(1, FIRST);
            RRef second = liveParameter(2, SECOND);
            double[][] expected = trained(settings, 20);
            try (DistributedOptimizer optimizer = autograd.optimizer(List.of(first, second), settings)) {
                for (int i = 0; i < 20; i++) {
                    assertThat(step(optimizer, first, second, mode)).isEqualTo(2);
                }
            }
            assertThat(value(first)).as(mode + " at worker 1").containsExactly(expected[0]);
            assertThat(value(second)).as(mode + " at worker 2").containsExactly(expected[1]);
        }
    }

    /** The same steps by libtorch alone. */
    @SuppressWarnings("try")
    private static double[][] trained(OptimizerSettings settings, int steps) {
        try (PointerScope scope = new PointerScope()) {
            Tensor a = leaf(FIRST);
            Tensor b = leaf(SECOND);
            Optimizer optimizer = optimizer(settings, new TensorVector(a, b));
            for (int i = 0; i < steps; i++) {
                optimizer.zero_grad();
                Tensor error = a.mul(b).sub(a);
                error.mul(error).sum().backward();
                optimizer.step();
            }
            return new double[][] {read(a), read(b)};
        }
    }

    private static Optimizer optimizer(OptimizerSettings settings, TensorVector parameters) {
        if (settings instanceof OptimizerSettings.Sgd sgd) {
            SGDOptions options = new SGDOptions(sgd.lr());
            options.momentum().put(sgd.momentum());
            options.weight_decay().put(sgd.weightDecay());
            options.nesterov().put(sgd.nesterov());
            return new SGD(parameters, options);
        } else if (settings instanceof OptimizerSettings.Adam adam) {
            return new org.bytedeco.pytorch.Adam(parameters, new AdamOptions(adam.lr()));
        }
        return new org.bytedeco.pytorch.AdamW(parameters, new AdamWOptions(settings.lr()));
    }

    private static Tensor leaf(double... elements) {
        Tensor leaf = torch.from_blob(
                        new DoublePointer(elements), new long[] {elements.length}, new TensorOptions(ScalarType.Double))
                .clone();
        leaf.set_requires_grad(true);
        return leaf;
    }

    private static double[] read(Tensor tensor) {
        double[] elements = new double[(int) tensor.numel()];
        new DoublePointer(tensor.data_ptr()).get(elements);
        return elements;
    }

    @Test
    void updatesOnlyParametersThatHaveAGradient() {
        RRef first = parameter(1, FIRST);
        RRef second = liveParameter(1, SECOND);
        RRef own = liveParameter(0, 1, 2, 3);
        RRef unused = parameter(2, 4, 5, 6);
        try (DistributedOptimizer optimizer = autograd.optimizer(List.of(first, own, unused, second), SGD)) {
            assertThat(step(optimizer, first, own, BackwardMode.SMART)).isEqualTo(2);
            assertThat(step(optimizer, first, second, BackwardMode.SMART)).isEqualTo(2);
        }
        assertThat(value(own)).isNotEqualTo(new double[] {1, 2, 3});
        assertThat(value(unused)).containsExactly(4, 5, 6);
    }

    @Test
    void oneStepRunsAtATimeInAnOwner() {
        RRef parameter = parameter(1, 1);
        List<CompletableFuture<Void>> all = new ArrayList<>();
        try (DistributedOptimizer optimizer = autograd.optimizer(List.of(parameter), new OptimizerSettings.Sgd(1));
                DistributedOptimizer other = autograd.optimizer(List.of(parameter), new OptimizerSettings.Sgd(1))) {
            for (DistributedOptimizer each : List.of(optimizer, other, optimizer, other)) {
                all.add(CompletableFuture.runAsync(() -> stepsOfOne(each, parameter, 50)));
            }
            all.forEach(CompletableFuture::join);
        }
        assertThat(value(parameter)).as("each step subtracts 1").containsExactly(1 - 4 * 50);
    }

    private void stepsOfOne(DistributedOptimizer optimizer, RRef parameter, int steps) {
        for (int i = 0; i < steps; i++) {
            autograd.context(context -> {
                try (Response value = parameter.toHere()) {
                    Value loss = TestWorkers.ENGINE.run(invocation("aten::sum", value.value()));
                    autograd.backward(context, List.of(tensor(loss)));
                    tensor(loss).storage().release();
                } catch (RejectedMessageException e) {
                    throw new AssertionError(e);
                }
                assertThat(optimizer.step(context)).isEqualTo(1);
            });
        }
    }

    @Test
    void refusesWhatIsNoParameter() {
        RRef parameter = parameter(1, 1);
        RRef plain = kept(workers.worker(0).rpc().remote("worker1", invocation("aten::ones", List.of(2))));
        RRef number = kept(workers.worker(0).rpc().remote("worker2", invocation("aten::add", 1, 2)));
        RRef failed = kept(workers.worker(0).rpc().remote("worker2", invocation("aten::none_like_this", 1)));

        assertThatThrownBy(() -> autograd.optimizer(List.of(), SGD)).isInstanceOf(IllegalArgumentException.class);
        assertRefused(
                List.of(parameter, plain),
                "the optimizer at worker 1 failed: ",
                "a parameter is a leaf that requires grad, and that at 1 is a leaf that does not");
        assertRefused(List.of(parameter, parameter), "the optimizer at worker 1 failed: ", "at 1 comes twice");
        assertRefused(List.of(parameter, number), "the optimizer at worker 2 failed: ", "is a dense tensor");
        assertThatThrownBy(() -> autograd.optimizer(List.of(parameter, failed), SGD))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("none_like_this");
        assertThat(workers.autograd(1).optimizers().count())
                .as("what was created is closed")
                .isZero();
    }

    private void assertRefused(List<RRef> parameters, String begin, String reason) {
        CallException refusal = catchThrowableOfType(CallException.class, () -> autograd.optimizer(parameters, SGD));
        assertThat(refusal).hasMessageStartingWith(begin).hasMessageContaining(reason);
        assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
    }

    @Test
    void aStepThatFailsHasATypeAndLeavesTheOptimizerUsable() {
        RRef first = parameter(1, FIRST);
        RRef second = parameter(2, SECOND);
        DistributedOptimizer optimizer = autograd.optimizer(List.of(first, second), SGD);
        assertThatThrownBy(() -> optimizer.step(12345))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Could not find autograd context with id: 12345");
        assertThat(step(optimizer, first, second, BackwardMode.SMART)).isEqualTo(2);
        optimizer.close();
        optimizer.close();
        autograd.context(context -> {
            CallException failure = catchThrowableOfType(CallException.class, () -> optimizer.step(context));
            assertThat(failure)
                    .hasMessageContaining("the optimizer at worker 1 failed: ")
                    .hasMessageContaining("there is no optimizer");
            assertThat(failure.code()).isEqualTo(ErrorCode.REFUSED);
            assertThat(failure.getSuppressed()[0]).hasMessageContaining("the optimizer at worker 2 failed: ");
        });
    }

    @Test
    void malformedRequestsAreRefused() {
        List<Value> wrong = List.of(
                Value.of(1),
                Value.tuple(),
                Value.tuple(Value.of("sgd"), Value.of(true)),
                Value.tuple(Value.of("none"), Value.of(1.0), Value.of(true)),
                Value.tuple(Value.of("sgd"), Value.of(1), Value.of(1), Value.of(1), Value.of(1), Value.of(true)));
        for (Value settings : wrong) {
            assertMalformed(settings, new Value.Items(List.of()));
        }
        Value sgd = Value.tuple(
                Value.of("sgd"), Value.of(1.0), Value.of(0.0), Value.of(0.0), Value.of(0.0), Value.of(false));
        assertMalformed(sgd, Value.of("none"));
        assertMalformed(sgd, new Value.Items(List.of(Value.of(3))));
        assertMalformed(sgd, new Value.Items(List.of(Value.of(parameter(2, 1)))));
    }

    private void assertMalformed(Value settings, Value parameters) {
        Request request = Request.operation("worker1", "autograd.optimizer.create");
        request.body().int64("optimizer", 1).value("settings", settings).value("parameters", parameters);
        CallException refusal = catchThrowableOfType(
                CallException.class, () -> workers.worker(0).call(request).close());
        assertThat(refusal.code()).as(settings + " " + refusal.getMessage()).isEqualTo(ErrorCode.MALFORMED_BODY);
    }

    @Test
    void optimizersOfAProgramThatEndedAreGivenUp() throws Exception {
        RRef parameter = parameter(1, FIRST);
        Autograd other = workers.autograd(2);
        try (RRef theirs =
                workers.worker(2).rpc().remote("worker1", invocation("aten::clone", workers.leaf(new long[] {1}, 1)))) {
            other.optimizer(List.of(theirs), SGD);
        }
        try (DistributedOptimizer mine = autograd.optimizer(List.of(parameter), SGD)) {
            assertThat(workers.autograd(1).optimizers().count()).isEqualTo(2);
            other.close();
            workers.worker(2).close();
            Waits.until(
                    "its optimizer is gone",
                    () -> workers.autograd(1).optimizers().count() == 1);
            autograd.context(mine::step);
        }
    }
}
