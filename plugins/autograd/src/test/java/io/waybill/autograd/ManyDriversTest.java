package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.ENGINE;
import static io.waybill.autograd.TestWorkers.NATIVES;
import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Several workers and threads that run passes through one worker at the same time. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class ManyDriversTest {

    private static final int DRIVERS = 3;
    private static final int THREADS = 20; // of each

    @TempDir
    private Path directory;

    private static final List<NativeTensor> LEAVES = new CopyOnWriteArrayList<>();

    private final ExecutorService threads = Executors.newFixedThreadPool(DRIVERS * THREADS);
    private TestWorkers workers;
    private Value t1;
    private Value t2;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(
                directory.resolve("home"),
                DRIVERS + 1,
                worker -> worker.with(new MakeLeaf()).with(new AddTo()));
        t1 = workers.leaf(new long[] {2}, 1, 2);
        t2 = workers.leaf(new long[] {2}, 3, 4);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        threads.shutdownNow();
        for (int i = 0; i <= DRIVERS; i++) {
            Autograd each = workers.autograd(i);
            Waits.until("no context is left", () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.close();
        LEAVES.forEach(NativeTensor::release);
        LEAVES.clear();
        Waits.until("handles are released", () -> NATIVES.liveCount() == 0);
    }

    /** Makes a leaf of two ones. */
    @HandlesMessage("function:test.leaf")
    private static final class MakeLeaf implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            try (PointerScope scope = new PointerScope()) {
                org.bytedeco.pytorch.Tensor ones = torch.ones(2);
                ones.set_requires_grad(true);
                NativeTensor leaf = NATIVES.hold(ones);
                LEAVES.add(leaf);
                outbox.respond(NATIVES.describe(leaf));
            }
        }
    }

    /** Adds a tensor to the value of a reference. */
    @HandlesMessage("function:test.add_to")
    private static final class AddTo implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            List<Value> arguments = message.invocation().positional();
            try (Response value = ((Value.OfRRef) arguments.get(0)).value().toHere()) {
                outbox.respond(ENGINE.run(invocation("aten::add", value.value(), arguments.get(1))));
            }
        }
    }

    private void onAllThreads(int perDriver, Task task) {
        CountDownLatch together = new CountDownLatch(DRIVERS * perDriver);
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (int i = 0; i < DRIVERS * perDriver; i++) {
            int driver = 1 + i % DRIVERS;
            running.add(CompletableFuture.runAsync(
                    () -> {
                        together.countDown();
                        Waits.until("all threads run", () -> together.getCount() == 0);
                        task.run(driver, workers.autograd(driver));
                    },
                    threads));
        }
        running.forEach(CompletableFuture::join);
    }

    private interface Task {
        void run(int driver, Autograd autograd);
    }

    private void backward(Autograd autograd, long context, Value result, BackwardMode mode) {
        Value loss = run("aten::sum", result);
        autograd.backward(context, List.of(tensor(loss)), false, mode);
        tensor(loss).storage().release();
    }

    private static Value run(String name, Object... arguments) {
        try {
            return ENGINE.run(invocation(name, arguments));
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertGradient(Autograd autograd, long context, Value leaf, double... expected) {
        try (ContextGradients gradients = autograd.gradients(context)) {
            assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(expected);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sixtyThreadsDifferentiateThroughOneWorker(BackwardMode mode) {
        onAllThreads(
                THREADS,
                (driver, autograd) -> autograd.context(context -> {
                    try (Response product =
                            workers.worker(driver).rpc().rpcSync("worker0", invocation("aten::mul", t1, t2))) {
                        backward(autograd, context, product.value(), mode);
                    }
                    assertGradient(autograd, context, t1, 3, 4);
                    assertGradient(autograd, context, t2, 1, 2);
                }));
    }

    @ParameterizedTest
    @EnumSource
    void threeDriversUseLeavesOfOneOwnerAtOnce(BackwardMode mode) {
        onAllThreads(
                1,
                (driver, autograd) -> autograd.context(context -> {
                    try (RRef leaf = workers.worker(driver).rpc().remote("worker0", invocation("test.leaf"));
                            RRef sum = workers.worker(driver)
                                    .rpc()
                                    .remote("worker0", invocation("test.add_to", Value.of(leaf), t2));
                            Response here = sum.toHere()) {
                        backward(autograd, context, here.value(), mode);
                    }
                    assertGradient(autograd, context, t2, 1, 1);
                    assertOwnersGradient(context);
                }));
    }

    private void assertOwnersGradient(long context) {
        try (ContextGradients gradients = workers.autograd(0).gradients(context);
                PointerScope scope = new PointerScope()) {
            List<NativeTensor> found =
                    LEAVES.stream().flatMap(leaf -> gradients.of(leaf).stream()).toList();
            assertThat(found)
                    .singleElement()
                    .satisfies(gradient -> assertThat(
                                    gradient.tensor().sum().item().toDouble())
                            .isEqualTo(2));
        }
    }
}
