package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeTensor;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What contexts record of calls, and how they end. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class RecordingTest {

    @TempDir
    private Path directory;

    private TestWorkers workers;
    private Autograd autograd;
    private Value t1;
    private Value t2;

    @BeforeEach
    void join() throws Exception {
        workers = TestWorkers.of(directory.resolve("home"), 3, worker -> worker.with(new Forwarding()));
        autograd = workers.autograd(0);
        t1 = workers.leaf(new long[] {2}, 1, 2);
        t2 = workers.leaf(new long[] {2}, 3, 4);
    }

    @AfterEach
    void leavesNothing() throws Exception {
        for (int i = 0; i < 3; i++) {
            Autograd each = workers.autograd(i);
            Waits.until("no context is left", () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.close();
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("bytes of messages are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    private ContextStatus status(int worker, long context) {
        return workers.autograd(worker).contexts().stream()
                .filter(each -> each.id() == context)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aCallToOneselfHasBothEndsInOneContext() {
        autograd.context(context -> {
            Value loss = workers.local("aten::sum", workers.call(0, 0, "aten::add", t1, t2));
            ContextStatus status = status(0, context);
            assertThat(status.sends()).isEqualTo(2);
            assertThat(status.receives()).isEqualTo(2);
            assertThat(status.knownWorkers()).containsExactly(0);
            autograd.backward(context, List.of(tensor(loss)), false, BackwardMode.FAST);
            assertGradient(context, t1, 1, 1);
        });
    }

    @Test
    void aValueThatStaysThereKeepsItsGraph() {
        for (BackwardMode mode : BackwardMode.values()) {
            autograd.context(context -> {
                try (RRef sum = workers.worker(0).rpc().remote("worker2", invocation("aten::mul", t1, t2));
                        Response here = sum.toHere()) {
                    Value loss = workers.local("aten::sum", here.value());
                    autograd.backward(context, List.of(tensor(loss)), false, mode);
                }
                ContextStatus status = status(0, context);
                assertThat(status.sends()).isEqualTo(1);
                assertThat(status.receives()).isEqualTo(1);
                assertThat(status.knownWorkers()).containsExactly(2);
                assertGradient(context, t1, 3, 4);
            });
        }
    }

    @Test
    void bothSidesRecordOneMessageInEachDirection() {
        autograd.context(context -> {
            workers.call(0, 1, "aten::add", t1, t2);
            for (int worker = 0; worker < 2; worker++) {
                ContextStatus status = status(worker, context);
                assertThat(status.sends()).as("worker " + worker).isEqualTo(1);
                assertThat(status.receives()).as("worker " + worker).isEqualTo(1);
                assertThat(status.knownWorkers()).containsExactly(1 - worker);
            }
        });
    }

    @Test
    void idsBeginWithTheWorker() {
        for (int i = 0; i < 200; i++) {
            Autograd third = workers.autograd(2);
            third.context(context -> assertThat(context >>> 48).isEqualTo(2));
        }
    }

    @Test
    void callsOfOperationsAreWrappedAndReachWorkersThatTheDriverNeverCalled() {
        Value plain = workers.leaf(false, new long[] {2}, 1, 1);
        for (Value tensor : List.of(t1, plain)) {
            autograd.context(context -> {
                Request request = Request.operation("worker1", "test.forward");
                request.body().text("to", "worker2").value("tensor", tensor);
                try (Response response = workers.worker(0).call(request)) {
                    int messages = tensor == t1 ? 1 : 0;
                    assertThat(response.tensors().get(0).requiresGrad()).isEqualTo(tensor == t1);
                    assertThat(status(0, context).sends()).isEqualTo(messages);
                    assertThat(status(0, context).receives()).isEqualTo(messages);
                    assertThat(status(1, context).sends()).isEqualTo(2 * messages);
                    assertThat(status(1, context).receives()).isEqualTo(2 * messages);
                    assertThat(status(0, context).knownWorkers()).containsExactly(1);
                    assertThat(status(1, context).knownWorkers()).containsExactly(0, 2);
                    assertThat(status(2, context).knownWorkers()).containsExactly(1);
                }
            });
        }
    }

    /** Passes its tensor on to a third worker, and responds with what comes back. */
    @HandlesMessage("test.forward")
    private static final class Forwarding implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            if (message.text("to").isEmpty()) {
                message.tensor("tensor").storage().retain();
                outbox.response().tensor("tensor", message.tensor("tensor"));
                return;
            }
            Request request = Request.operation(message.text("to"), "test.forward");
            request.body().text("to", "").value("tensor", message.value("tensor"));
            try (Response response = outbox.caller().call(request)) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.response().value("tensor", response.value("tensor"));
            }
        }
    }

    @Test
    void manyLargeTensorsInOneContextAreNeverRefused() {
        int calls = 1_000;
        Value large = workers.local("aten::ones", new Value.Items(List.of(Value.of(1L << 18))));
        autograd.context(context -> {
            Value first = workers.leaf(new long[] {1}, 2);
            Value sum = first;
            for (int i = 0; i < calls; i++) {
                Value product = workers.call(0, 1, "aten::mul", large, first);
                sum = workers.local("aten::add", sum, workers.local("aten::mean", product));
            }
            autograd.backward(context, List.of(tensor(workers.local("aten::sum", sum))));
            assertGradient(context, first, 1 + calls);
        });
    }

    @Test
    void operatorsWithoutGradientAreNotWrapped() {
        Value plain = workers.leaf(false, new long[] {2}, 1, 1);
        autograd.context(context -> {
            workers.call(0, 1, "aten::add", plain, plain);
            assertThat(status(0, context).knownWorkers()).isEmpty();
            assertThat(workers.autograd(1).contexts()).isEmpty();
        });
    }

    @Test
    void anUnusedResultDoesNotDelayThePass() {
        autograd.context(context -> {
            workers.call(0, 1, "aten::mul", t1, t2);
            Value loss = workers.local("aten::sum", workers.call(0, 2, "aten::add", t1, t2));
            autograd.backward(context, List.of(tensor(loss)));
            assertGradient(context, t1, 1, 1);
        });
    }

    /** As in PyTorch: all send functions take part, and the gradients of this one never come. */
    @Test
    void anUnusedResultKeepsAPassInFastModeFromEnding() throws Exception {
        long context = autograd.open();
        workers.call(0, 1, "aten::mul", t1, t2);
        Value loss = workers.local("aten::sum", workers.call(0, 2, "aten::add", t1, t2));
        CompletableFuture<Void> pass = CompletableFuture.runAsync(
                () -> autograd.backward(context, List.of(tensor(loss)), false, BackwardMode.FAST));
        Waits.until("the pass runs", () -> autograd.passes() == 1);
        CompletableFuture.runAsync(() -> autograd.context(other -> {
                    Value sum = workers.local("aten::sum", workers.call(0, 2, "aten::add", t1, t2));
                    autograd.backward(other, List.of(tensor(sum)), false, BackwardMode.FAST);
                }))
                .get();
        assertThat(pass).isNotDone();
        autograd.release(context);
        assertThatThrownBy(pass::get).hasMessageContaining("Autograd context no longer valid!");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void gradientsNeverGoToTheLeavesOwn(boolean isSparse) {
        Value leaf = workers.leaf(isSparse, 1, 2);
        Value other = workers.leaf(isSparse, 3, 4);
        NativeTensor live = TestWorkers.live(leaf);
        try (PointerScope scope = new PointerScope()) {
            passOver(leaf, other);
            assertThat(live.tensor().grad().defined()).isFalse();
            live.tensor().to_dense().mul(new Scalar(7)).sum().backward();
            double[] own = {7, 7};
            assertThat(own(live)).containsExactly(own);
            passOver(leaf, other);
            assertThat(own(live)).containsExactly(own);
        } finally {
            live.release();
        }
    }

    private void passOver(Value leaf, Value other) {
        autograd.context(context -> {
            Value sum = workers.call(0, 1, "aten::add", leaf, other);
            Value loss = workers.local("aten::sum", workers.local("aten::to_dense", sum));
            autograd.backward(context, List.of(tensor(loss)));
            try (ContextGradients gradients = autograd.gradients(context)) {
                assertThat(gradients.entries()).hasSize(2);
            }
        });
    }

    private static double[] own(NativeTensor leaf) {
        Tensor dense = leaf.tensor().grad().to_dense().contiguous();
        float[] values = new float[2];
        new FloatPointer(dense.data_ptr()).capacity(2).get(values);
        return new double[] {values[0], values[1]};
    }

    @Test
    void aTaskOnAnotherThreadIsInTheContextThatItIsGiven() {
        autograd.context(context -> {
            CallContext carried = CallContext.current();
            Value sum = CompletableFuture.supplyAsync(
                            () -> carried.supply(() -> workers.call(0, 1, "aten::add", t1, t2)))
                    .join();
            autograd.backward(context, List.of(tensor(workers.local("aten::sum", sum))));
            assertGradient(context, t1, 1, 1);
            assertGradient(context, t2, 1, 1);
        });
    }

    @Test
    void aFailedCallLeavesTheContextUsable() {
        Value other = workers.leaf(new long[] {3}, 1, 2, 3);
        autograd.context(context -> {
            assertThatThrownBy(() -> workers.call(0, 1, "aten::add", t1, other)).isInstanceOf(CallException.class);
            Value loss = workers.local("aten::sum", workers.call(0, 1, "aten::add", t1, t2));
            autograd.backward(context, List.of(tensor(loss)), false, BackwardMode.FAST);
            assertGradient(context, t2, 1, 1);
        });
    }

    @Test
    void twoPassesAddUp() {
        autograd.context(context -> {
            Value loss = workers.local("aten::sum", workers.call(0, 1, "aten::mul", t1, t2));
            autograd.backward(context, List.of(tensor(loss)), true);
            autograd.backward(context, List.of(tensor(loss)), false);
            assertGradient(context, t1, 6, 8);
            assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(loss))))
                    .hasMessageContaining("backward through the graph a second time");
        });
    }

    @Test
    void anyWorkerThatReleasesAContextReleasesItEverywhere() throws Exception {
        long context = autograd.open();
        workers.call(0, 1, "aten::mul", t1, t2);
        CompletableFuture.runAsync(() -> workers.autograd(1).release(context)).get();
        Waits.until("the driver's is released", () -> autograd.contexts().isEmpty());
        assertThatThrownBy(() -> workers.call(0, 1, "aten::mul", t1, t2))
                .hasMessageContaining("Couldn't find autograd context data for current autograd context id");
        assertThat(autograd.open()).as("a stale id does not stay on the thread").isNotEqualTo(context);
        autograd.release(autograd.currentContext());
    }

    @Test
    void aDriverThatIsGoneLeavesNoContext() throws Exception {
        Autograd driver = workers.autograd(2);
        long context = driver.open();
        workers.call(2, 1, "aten::mul", t1, t2);
        assertThat(status(1, context).driver()).isEqualTo(2);
        driver.close(); // its worker ends without releasing anything
        workers.worker(2).close();
        Waits.until("it expires", () -> workers.autograd(1).contexts().isEmpty());
        driver.release(context);
    }

    @Test
    void wrongUseHasPyTorchsTexts() {
        assertThatThrownBy(() -> autograd.backward(100, List.of(tensor(t1))))
                .hasMessage("Could not find autograd context with id: 100");
        assertThatThrownBy(autograd::currentContext)
                .hasMessageStartingWith("Current thread doesn't have a valid autograd context. Please wrap your code");
        Value plain = workers.leaf(false, new long[] {2}, 1, 1);
        autograd.context(context -> {
            assertThatThrownBy(autograd::open).hasMessage("Already have an autograd context id for this thread.");
            assertThatThrownBy(() -> autograd.backward(context, List.of()))
                    .hasMessage("No tensors provided for gradient computation.");
            assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(plain))))
                    .hasMessageContaining("requires_grad not set on root");
            assertThatThrownBy(() -> autograd.backward(context, List.of(tensor(t1))))
                    .hasMessageContaining("is not a scalar, all roots need to be scalar");
        });
    }

    @Test
    void aPassFromAReferenceRunsAtItsOwner() {
        autograd.context(context -> {
            try (RRef product = workers.worker(0).rpc().remote("worker1", invocation("aten::mul", t1, t2));
                    RRef sum = workers.worker(0).rpc().remote("worker1", invocation("aten::dot", t1, t2))) {
                autograd.backward(context, sum, true);
                autograd.backward(context, sum, false);
                assertGradient(context, t1, 6, 8);
                assertThatThrownBy(() -> autograd.backward(context, product, false))
                        .hasMessageContaining("is not a scalar");
            }
        });
    }

    private void assertGradient(long context, Value leaf, double... expected) {
        try (ContextGradients gradients = autograd.gradients(context)) {
            assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(expected);
        }
    }
}
