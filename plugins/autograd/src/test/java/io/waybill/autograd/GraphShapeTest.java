package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.ENGINE;
import static io.waybill.autograd.TestWorkers.NATIVES;
import static io.waybill.autograd.TestWorkers.invocation;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.graph.ContextGraph;
import io.waybill.autograd.graph.GraphShape;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Which graph each worker records of a call, down to the edges: of operators and of functions, called or left there and fetched, of dense and of sparse
 * tensors.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class GraphShapeTest {

    private static final String OPERATOR = "aten::add";
    private static final String FUNCTION = "test.nest";
    private static final String SENT_LEAVES = "leaf:0, leaf:0";
    private static final String ADDED = "AddBackward0:0(recv:0, recv:1)";
    private static final String FORWARDED_ARGUMENTS = "recv:0, recv:1";
    private static final String FORWARDED_RESULT = "recv:0";

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private Autograd autograd;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), 4, worker -> worker.with(new Nesting()));
        autograd = workers.autograd(0);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (int i = 0; i < 4; i++) {
            Autograd each = workers.autograd(i);
            Waits.until("no context is left", () -> each.contexts().isEmpty());
        }
        workers.close();
        assertThat(NATIVES.liveCount()).as("handles").isZero();
    }

    /** Adds two tensors at the last of some workers, each of which calls the next. */
    @HandlesMessage("function:" + FUNCTION)
    private static final class Nesting implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            List<Value> arguments = message.invocation().positional();
            List<Value> hops = arguments.size() > 2 ? ((Value.Items) arguments.get(2)).values() : List.of();
            if (hops.isEmpty()) {
                outbox.respond(ENGINE.run(invocation(OPERATOR, arguments.get(0), arguments.get(1))));
                return;
            }
            boolean isLeft = ((Value.Bool) arguments.get(3)).value();
            Value rest = new Value.Items(hops.subList(1, hops.size()));
            Invocation next = new Invocation(
                    FUNCTION, List.of(arguments.get(0), arguments.get(1), rest, arguments.get(3)), Map.of());
            try (Response response = called(outbox.rpc(), ((Value.Text) hops.get(0)).value(), next, isLeft)) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.respond(response.value());
            }
        }
    }

    private static Response called(Rpc rpc, String to, Invocation call, boolean isLeft) {
        if (!isLeft) {
            return rpc.rpcSync(to, call);
        }
        try (RRef left = rpc.remote(to, call)) {
            return left.toHere();
        }
    }

    private Value call(int to, boolean isLeft, String name, Object... arguments) {
        try (Response response = called(workers.worker(0).rpc(), "worker" + to, invocation(name, arguments), isLeft)) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            return workers.keep(response.value());
        }
    }

    private ContextGraph graph(int worker, long context) {
        return workers.autograd(worker).require(context).graph();
    }

    private void assertShape(int worker, long context, int receives, String... sends) {
        try (PointerScope scope = new PointerScope()) {
            assertThat(GraphShape.sends(graph(worker, context)))
                    .as("what worker " + worker + " sent")
                    .containsExactlyInAnyOrder(sends);
            assertThat(graph(worker, context).recvCount())
                    .as("what worker " + worker + " received")
                    .isEqualTo(receives);
        }
    }

    private void assertBehind(long context, Value value, String expected) {
        NativeTensor handle = TestWorkers.live(value);
        try (PointerScope scope = new PointerScope()) {
            assertThat(GraphShape.behind(graph(0, context), handle.tensor())).isEqualTo(expected);
        } finally {
            handle.release();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "aten::add, false, false", "aten::add, true, false", "test.nest, false, false", "test.nest, true, false",
        "aten::add, false, true", "aten::add, true, true", "test.nest, false, true", "test.nest, true, true"
    })
    void ofACall(String name, boolean isLeft, boolean isSparse) {
        Value t1 = workers.leaf(isSparse, 1, 2);
        Value t2 = workers.leaf(isSparse, 3, 4);
        autograd.context(context -> {
            Value sum = call(1, isLeft, name, t1, t2);
            assertShape(0, context, 1, SENT_LEAVES);
            assertBehind(context, sum, FORWARDED_RESULT);
            assertShape(1, context, 1, ADDED);
        });
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void ofCallsThroughFourWorkers(boolean isLeft, boolean isSparse) {
        Value t1 = workers.leaf(isSparse, 1, 2);
        Value t2 = workers.leaf(isSparse, 3, 4);
        autograd.context(context -> {
            call(1, isLeft, FUNCTION, t1, t2, hops("worker2", "worker3"), Value.of(isLeft));
            assertShape(0, context, 1, SENT_LEAVES);
            assertShape(1, context, 2, FORWARDED_ARGUMENTS, FORWARDED_RESULT);
            assertShape(2, context, 2, FORWARDED_ARGUMENTS, FORWARDED_RESULT);
            assertShape(3, context, 1, ADDED);
        });
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void ofCallsThatComeBack(boolean isLeft, boolean isSparse) {
        Value t1 = workers.leaf(isSparse, 1, 2);
        Value t2 = workers.leaf(isSparse, 3, 4);
        autograd.context(context -> {
            call(1, isLeft, FUNCTION, t1, t2, hops("worker0"), Value.of(isLeft));
            assertShape(0, context, 2, SENT_LEAVES, ADDED);
            assertShape(1, context, 2, FORWARDED_ARGUMENTS, FORWARDED_RESULT);
        });
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void ofTensorsThatNeedNoGradient(boolean isLeft, boolean isSparse) {
        Value plain = isSparse
                ? workers.local("aten::detach", workers.leaf(true, 1, 2))
                : workers.leaf(false, new long[] {2}, 1, 2);
        autograd.context(context -> {
            call(1, isLeft, FUNCTION, plain, plain);
            assertShape(0, context, 0);
            assertShape(1, context, 0);
            assertThat(workers.autograd(0).contexts().get(0).knownWorkers()).containsExactly(1);
        });
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void ofAListInWhichEverySecondTensorNeedsAGradient(boolean isLeft, boolean isSparse) {
        List<Value> tensors = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Value leaf = workers.leaf(isSparse, i + 1, i + 2);
            tensors.add(i % 2 == 0 ? leaf : workers.local("aten::detach", leaf));
        }
        autograd.context(context -> {
            Value stacked = call(1, isLeft, "aten::stack", new Value.Items(tensors), 0);
            assertShape(0, context, 1, String.join(", ", Collections.nCopies(5, "leaf:0")));
            assertThat(workers.autograd(0).contexts().get(0).knownWorkers()).containsExactly(1);
            if (!isSparse) {
                assertOrder(context, tensors, stacked);
            }
        });
    }

    /** Weighs each row with its number, and finds it in the gradient of its leaf. */
    private void assertOrder(long context, List<Value> tensors, Value stacked) {
        double[] weights = new double[20];
        Arrays.setAll(weights, i -> i / 2);
        Value weighed = workers.local("aten::mul", stacked, workers.leaf(false, new long[] {10, 2}, weights));
        autograd.backward(context, List.of(TestWorkers.tensor(workers.local("aten::sum", weighed))));
        try (ContextGradients gradients = autograd.gradients(context)) {
            for (int i = 0; i < 10; i += 2) {
                assertThat(TestWorkers.elements(
                                gradients.of(TestWorkers.tensor(tensors.get(i))).orElseThrow()))
                        .containsExactly(i, i);
            }
            assertThat(gradients.entries()).hasSize(5);
        }
    }

    private static Value hops(String... workers) {
        return new Value.Items(Arrays.stream(workers).<Value>map(Value::of).toList());
    }
}
