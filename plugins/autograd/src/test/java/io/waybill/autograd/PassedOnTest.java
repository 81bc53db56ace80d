package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.event.CallEvent;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Passes that are passed on with the gradients for the only message that they lead to, and those that are not. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class PassedOnTest {

    private static final int WORKERS = 3;
    private static final int EXCHANGES = 20;
    /** More elements than a thread with little time computes. */
    private static final int LARGE = 40_000;

    /** How long the end of a pass is seen to be missing. */
    private static final long MISSING_MS = 300;

    @TempDir
    private Path directory;

    private final AtomicInteger requests = new AtomicInteger(); // of backward passes, by all workers
    private Value parameter; // of worker 1
    private TestWorkers workers;
    private Autograd autograd;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(
                directory.resolve("home"),
                WORKERS,
                worker -> worker.with(new Parameter()).with(new Cube()).with(new Weigh()));
        autograd = workers.autograd(0);
        for (int i = 0; i < WORKERS; i++) {
            workers.worker(i).events().add("test 1", event -> {
                if (event.kind() == CallEvent.Kind.APPENDED && event.type() == MessageType.BACKWARD_AUTOGRAD_REQ) {
                    requests.incrementAndGet();
                }
            });
        }
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (int i = 0; i < WORKERS; i++) {
            assertThat(workers.autograd(i).passes()).as("passes of worker " + i).isZero();
        }
        workers.close();
        Waits.until("bytes of messages are released", () -> {
            System.gc(); // hooks leave objects to it
            return TestWorkers.NATIVES.storageCount() == 0;
        });
    }

    private double[] gradient(long context, Value leaf) {
        try (ContextGradients gradients = autograd.gradients(context)) {
            return elements(gradients.of(tensor(leaf)).orElseThrow());
        }
    }

    private void backward(long context, Value loss, boolean keepsGraph, BackwardMode mode) {
        autograd.backward(context, List.of(tensor(loss)), keepsGraph, mode);
    }

    @ParameterizedTest
    @EnumSource
    void aStepTakesOneRequest(BackwardMode mode) throws Exception {
        autograd.context(context -> {
            Value leaf = workers.leaf(new long[] {1}, 1.5);
            Value square = workers.call(0, 1, "aten::mul", leaf, leaf);
            backward(context, workers.local("aten::sum", square), false, mode);
            assertThat(gradient(context, leaf)).containsExactly(3);
            assertThat(requests).as("the response has the gradient").hasValue(1);
        });
    }

    @ParameterizedTest
    @EnumSource
    void exchangesBackAndForthTakeOneOrTwoRequestsEach(BackwardMode mode) throws Exception {
        autograd.context(context -> {
            Value leaf = workers.leaf(new long[] {1}, 1);
            Value factor = workers.leaf(false, new long[] {1}, 1.5);
            Value last = leaf;
            for (int i = 0; i < EXCHANGES; i++) {
                last = workers.call(0, 1, "aten::mul", last, factor);
            }
            backward(context, workers.local("aten::sum", last), false, mode);
            assertThat(gradient(context, leaf)[0]).isCloseTo(Math.pow(1.5, EXCHANGES), within(1e-3));
            int least = mode == BackwardMode.SMART ? EXCHANGES : 2 * EXCHANGES - 1;
            assertThat(requests.get()).isBetween(least, mode == BackwardMode.SMART ? least : least + 1);
        });
    }

    @Test
    void whatLeadsToALeafAsWellIsDiscovered() throws Exception {
        autograd.context(context -> {
            Value leaf = workers.leaf(new long[] {1}, 1.5);
            Value square = workers.call(0, 1, "aten::mul", leaf, leaf);
            Value cube = workers.local("aten::mul", square, leaf);
            backward(context, workers.local("aten::sum", cube), false, BackwardMode.SMART);
            assertThat(gradient(context, leaf)).containsExactly(3 * 1.5 * 1.5);
            assertThat(requests).hasValue(3);
        });
    }

    @Test
    void aPassThatWasPassedOnBeginsToDiscoverWhereItBranches() throws Exception {
        autograd.context(context -> {
            Value first = workers.leaf(new long[] {1}, 2);
            Value second = workers.leaf(new long[] {1}, 3);
            Value there = workers.call(0, 1, "aten::mul", first, first); // 4
            Value here = workers.local("aten::mul", there, second); // 12
            Value both = workers.call(0, 1, "aten::mul", here, there); // 48 = 3 * first^4
            backward(context, workers.local("aten::sum", both), false, BackwardMode.SMART);
            assertThat(gradient(context, first)).containsExactly(3 * 4 * 8);
            assertThat(gradient(context, second)).containsExactly(16);
        });
    }

    /** Multiplies a tensor with its square, which another worker computes. */
    @HandlesMessage("test.cube")
    private static final class Cube implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            Value base = message.value("tensor");
            try (Response square = outbox.rpc().rpcSync("worker2", TestWorkers.invocation("aten::mul", base, base))) {
                Value cube = TestWorkers.ENGINE.run(TestWorkers.invocation("aten::mul", square.value(), base));
                outbox.response().value("cube", cube);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWorkerThatDiscoversTheRestIsFedByThoseBehindIt(BackwardMode mode) throws Exception {
        autograd.context(context -> {
            Value leaf = workers.leaf(new long[] {1}, 1.5);
            Request request = Request.operation("worker1", "test.cube");
            request.body().value("tensor", leaf);
            try (Response response = workers.worker(0).call(request)) {
                Value loss = workers.local("aten::sum", response.value("cube"));
                backward(context, loss, false, mode);
            }
            assertThat(gradient(context, leaf)).containsExactly(3 * 1.5 * 1.5);
        });
    }

    @Test
    void theNextPassOfTheContextFindsNothingOfIt() throws Exception {
        autograd.context(context -> {
            Value leaf = workers.leaf(new long[] {1}, 1.5);
            Value square = workers.call(0, 1, "aten::mul", leaf, leaf);
            Value loss = workers.local("aten::sum", square);
            for (int pass = 1; pass <= 3; pass++) {
                backward(context, loss, pass < 3, BackwardMode.SMART);
                assertThat(gradient(context, leaf)).containsExactly(3 * pass);
                assertThat(workers.autograd(1).passes()).isZero();
            }
        });
    }

    /** Responds with a reference to a parameter of this worker. */
    @HandlesMessage("test.parameter")
    private final class Parameter implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.response().value("parameter", Value.of(outbox.rpc().rref(parameter)));
        }
    }

    /** Multiplies a tensor with the parameter of this worker. */
    @HandlesMessage("test.weigh")
    private final class Weigh implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            outbox.response()
                    .value(
                            "product",
                            TestWorkers.ENGINE.run(
                                    TestWorkers.invocation("aten::mul", message.value("tensor"), parameter)));
        }
    }

    /** The pass branches at worker 1. What it sends back is computed here by another thread than the one that takes it. */
    @ParameterizedTest
    @EnumSource
    void endsWhenALargeLeafOfTheDriverHasItsGradient(BackwardMode mode) throws Exception {
        double[] ones = new double[LARGE];
        Arrays.fill(ones, 1);
        Value own = workers.leaf(new long[] {LARGE}, ones);
        parameter = workers.leaf(new long[] {LARGE}, ones);
        endsWhenHeldGradientIsThere(
                own,
                () -> autograd.context(context -> {
                    Request request = Request.operation("worker1", "test.weigh");
                    request.body().value("tensor", own);
                    try (Response response = workers.worker(0).call(request)) {
                        backward(context, workers.local("aten::sum", response.value("product")), false, mode);
                    }
                    assertThat(gradient(context, own)).containsExactly(ones);
                }));
    }

    /** The gradient of a large parameter is computed by another thread than the one that takes the request for it. */
    @ParameterizedTest
    @EnumSource
    void endsWhenALargeParameterHasItsGradient(BackwardMode mode) throws Exception {
        double[] ones = new double[LARGE];
        Arrays.fill(ones, 1);
        Value own = workers.leaf(new long[] {LARGE}, ones);
        parameter = workers.leaf(new long[] {LARGE}, ones);
        try (Response named = workers.worker(0).call(Request.operation("worker1", "test.parameter"));
                RRef reference =
                        ((Value.OfRRef) named.value("parameter")).value().retain()) {
            endsWhenHeldGradientIsThere(
                    parameter,
                    () -> autograd.context(context -> {
                        try (Response fetched = reference.toHere()) {
                            Value product = workers.local("aten::mul", fetched.value(), own);
                            backward(context, workers.local("aten::sum", product), false, mode);
                        }
                    }));
        }
    }

    /** A step of a driver. */
    private interface Step {
        void run() throws Exception;
    }

    private static void endsWhenHeldGradientIsThere(Value leaf, Step step) throws Exception {
        CountDownLatch reached = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        holdGradient(leaf, reached, released);
        ExecutorService driver = Executors.newSingleThreadExecutor();
        try {
            Future<?> running = driver.submit(() -> {
                step.run();
                return null;
            });
            assertThat(reached.await(2, TimeUnit.MINUTES)).isTrue();
            assertThatThrownBy(() -> running.get(MISSING_MS, TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);
            released.countDown();
            running.get(2, TimeUnit.MINUTES);
        } finally {
            released.countDown();
            driver.shutdown();
        }
    }

    /** Holds the thread that computes the gradient of a leaf. */
    @SuppressWarnings("try")
    private static void holdGradient(Value leaf, CountDownLatch reached, CountDownLatch released) {
        TensorTensorHook hook = new TensorTensorHook() {
            @Override
            public TensorBase call(TensorBase gradient) {
                reached.countDown();
                try {
                    released.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                return new Tensor(gradient).mul(new Scalar(1));
            }
        };
        hook.retainReference();
        try (PointerScope scope = new PointerScope()) {
            io.waybill.torch.NativeTensor live = TestWorkers.live(leaf);
            live.tensor().register_hook(hook);
            live.release();
        }
    }
}
