package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Passes that fail in one worker, while others wait. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class FailingPassesTest {

    private static final AtomicInteger FAILING = new AtomicInteger();
    private static final List<Hook> HOOKS = new CopyOnWriteArrayList<>();
    private static final List<TensorTensorHook> RELEASING = new CopyOnWriteArrayList<>();
    private static final AtomicReference<UnaryOperator<TensorBase>> CHANGING = new AtomicReference<>();
    private static final CountDownLatch[] HANGING = new CountDownLatch[2];

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private Autograd autograd;
    private Value t1;

    /** Doubles a tensor, at the worker whose number is left, by a chain of calls; in the last one the gradient meets a hook. */
    @HandlesMessage("test.chain")
    @SuppressWarnings("try")
    static final class Chain implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            long left = message.int64("left");
            if (left > 0) {
                Request next = chain((int) (message.int64("at") + 1), left - 1, message.value("tensor"));
                try (Response response = outbox.caller().call(next)) {
                    response.tensors().forEach(tensor -> tensor.storage().retain());
                    outbox.response().value("tensor", response.value("tensor"));
                }
                return;
            }
            NativeTensor handle =
                    TestWorkers.NATIVES.find(message.tensor("tensor")).orElseThrow();
            try (PointerScope scope = new PointerScope()) {
                Tensor doubled = handle.tensor().mul(new Scalar(2));
                doubled.register_hook(new Hook());
                NativeTensor result = TestWorkers.NATIVES.hold(doubled);
                try {
                    outbox.response().value("tensor", TestWorkers.NATIVES.describe(result));
                } finally {
                    result.release();
                }
            } finally {
                handle.release();
            }
        }
    }

    private static final class Hook extends TensorTensorHook {

        Hook() {
            retainReference(); // not its scope's to free
            HOOKS.add(this); // libtorch refers to it weakly
        }

        @Override
        public TensorBase call(TensorBase gradient) {
            if (HANGING[0] != null) {
                HANGING[0].countDown();
                Waits.until("the hook may return", () -> HANGING[1].getCount() == 0);
            }
            UnaryOperator<TensorBase> changing = CHANGING.get();
            if (changing != null) {
                return changing.apply(gradient);
            }
            if (FAILING.get() > 0) {
                throw new IllegalStateException("Simulate error on backward pass");
            }
            return gradient;
        }
    }

    private static Request chain(int to, long left, Value tensor) {
        Request request = Request.operation("worker" + to, "test.chain");
        request.body().int64("at", to).int64("left", left).value("tensor", tensor);
        return request;
    }

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), 4, worker -> worker.with(new Chain()));
        autograd = workers.autograd(0);
        t1 = workers.leaf(new long[] {2}, 1, 2);
        FAILING.set(0);
        CHANGING.set(null);
        HANGING[0] = null;
    }

    @AfterEach
    void leavesNothing() throws Exception {
        HANGING[0] = null;
        for (ContextStatus left : autograd.contexts()) {
            autograd.release(left.id());
        }
        for (int i = 0; i < 4; i++) {
            Autograd each = workers.autograd(i);
            Waits.until("no context is left", () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until(
                () -> TestWorkers.NATIVES.storageCount() + " storages", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    private Value throughAll() {
        try (Response response = workers.worker(0).call(chain(1, 2, t1))) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            return workers.local("aten::sum", workers.keep(response.value("tensor")));
        }
    }

    @Test
    void anErrorReachesTheDriverThroughAllHops() {
        for (BackwardMode mode : BackwardMode.values()) {
            autograd.context(context -> {
                Value loss = throughAll();
                FAILING.set(1);
                for (int i = 0; i < 20; i++) {
                    assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(loss)), true, mode))
                            .isInstanceOf(CallException.class)
                            .hasMessageStartingWith("Error on Node 1: Error on Node 2: Error on Node 3: ")
                            .hasMessageContaining("Simulate error on backward pass");
                }
                FAILING.set(0);
                for (int i = 0; i < 5; i++) {
                    autograd.backward(context, List.of(tensor(loss)), true, mode);
                }
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(t1)).orElseThrow())).containsExactly(10, 10);
                }
            });
        }
    }

    static Stream<Arguments> hooks() {
        return Stream.of(
                hook("an exception of a hook", gradient -> {
                    throw new IllegalArgumentException("an exception of a hook");
                }),
                hook("an error of a hook", gradient -> {
                    throw new AssertionError("an error of a hook");
                }),
                hook("StackOverflowError", gradient -> {
                    throw new StackOverflowError();
                }),
                hook("has changed the size of value", gradient -> torch.ones(3)),
                hook("has changed the type of value", gradient -> torch.ones(2).to(torch.ScalarType.Double)));
    }

    private static Arguments hook(String text, UnaryOperator<TensorBase> hook) {
        return Arguments.of(text, hook);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hooks")
    void aHookThatFailsEndsThePassInAllWorkers(String text, UnaryOperator<TensorBase> hook) {
        for (BackwardMode mode : BackwardMode.values()) {
            autograd.context(context -> {
                Value loss = throughAll();
                CHANGING.set(hook);
                assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(loss)), true, mode))
                        .isInstanceOf(CallException.class)
                        .hasMessageStartingWith("Error on Node 1: Error on Node 2: Error on Node 3: ")
                        .hasMessageContaining(text)
                        .extracting(failure -> ((CallException) failure).code())
                        .isEqualTo(ErrorCode.HANDLER_FAILED);
                CHANGING.set(null);
                for (int i = 0; i < 4; i++) {
                    Autograd each = workers.autograd(i);
                    Waits.until("no pass is left", () -> each.passes() == 0);
                }
                autograd.backward(context, List.of(tensor(loss)), true, mode);
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(t1)).orElseThrow())).containsExactly(2, 2);
                }
            });
        }
    }

    @Test
    void contextsAndPassesAreCountedWhileTheyLast() throws Exception {
        long context = autograd.open();
        Value loss = throughAll();
        for (int i = 0; i < 4; i++) {
            assertThat(workers.autograd(i).contexts()).as("worker " + i).hasSize(1);
            assertThat(workers.autograd(i).passes()).as("worker " + i).isZero();
        }
        HANGING[0] = new CountDownLatch(1);
        HANGING[1] = new CountDownLatch(1);
        CompletableFuture<Void> pass =
                CompletableFuture.runAsync(() -> autograd.backward(context, List.of(tensor(loss))));
        Waits.until("the hook", () -> pass.isDone() || HANGING[0].getCount() == 0);
        for (int i = 0; i < 4; i++) {
            assertThat(workers.autograd(i).passes()).as("worker " + i).isEqualTo(1);
        }
        HANGING[1].countDown();
        pass.get(30, TimeUnit.SECONDS);
        autograd.release(context);
    }

    @Test
    void aContextThatAHookReleasesAfterAHundredRoundTripsEndsEverywhere() {
        long context = autograd.open();
        Value product = t1;
        for (int i = 0; i < 100; i++) {
            product = workers.call(0, 1 + i % 3, "aten::mul", product, t1);
            if (i == 50) {
                NativeTensor live = TestWorkers.live(product);
                try (PointerScope scope = new PointerScope()) {
                    live.tensor().register_hook(new Releasing(context));
                } finally {
                    live.release();
                }
            }
        }
        Value loss = workers.local("aten::sum", product);
        assertThat(autograd.contexts().get(0).sends()).isEqualTo(100);
        assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(loss))))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("Autograd context no longer valid!");
        assertThat(autograd.contexts()).isEmpty();
    }

    private final class Releasing extends TensorTensorHook {

        private final long context;

        Releasing(long context) {
            this.context = context;
            retainReference();
            RELEASING.add(this);
        }

        @Override
        public TensorBase call(TensorBase gradient) {
            autograd.release(context);
            return gradient;
        }
    }

    @Test
    void aContextThatIsReleasedDuringAPassEndsThePass() throws Exception {
        long context = autograd.open();
        Value loss = throughAll();
        HANGING[0] = new CountDownLatch(1);
        HANGING[1] = new CountDownLatch(1);
        CompletableFuture<Void> pass =
                CompletableFuture.runAsync(() -> autograd.backward(context, List.of(tensor(loss))));
        Waits.until("the hook", () -> pass.isDone() || HANGING[0].getCount() == 0);
        autograd.release(context);
        assertThatThrownBy(() -> pass.get(30, TimeUnit.SECONDS))
                .cause()
                .isInstanceOf(CallException.class)
                .hasMessageContaining("Autograd context no longer valid!")
                .extracting(failure -> ((CallException) failure).code())
                .isEqualTo(ErrorCode.REFUSED);
        HANGING[1].countDown();
    }
}
