package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Contexts with many calls. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class LongContextsTest {

    private static final long ELEMENTS = 1 << 18; // 1 MiB

    @TempDir
    private Path directory;

    /** Counts the requests of backward passes. */
    @InterceptsMessage("BACKWARD_AUTOGRAD_REQ")
    private static final class Counting implements CallInterceptor {

        private final AtomicInteger requests = new AtomicInteger();

        @Override
        public void onRequest(OutgoingCall call) {
            assertThat(call.type()).isEqualTo(MessageType.BACKWARD_AUTOGRAD_REQ);
            requests.incrementAndGet();
        }
    }

    /** Each value is used here and there: there are 2^20 paths. */
    @ParameterizedTest
    @EnumSource
    void exchangesBackAndForthTakeOneGradientPerMessage(BackwardMode mode) throws Exception {
        int exchanges = 20;
        Counting counting = new Counting();
        try (TestWorkers workers = TestWorkers.of(directory.resolve("home"), 2, worker -> worker.with(counting))) {
            Autograd autograd = workers.autograd(0);
            autograd.context(context -> {
                Value first = workers.leaf(new long[] {1}, 1);
                Value value = first;
                for (int i = 0; i < exchanges; i++) {
                    value = workers.local("aten::add", value, workers.call(0, 1, "aten::mul", value, 0.5));
                }
                autograd.backward(context, List.of(tensor(workers.local("aten::sum", value))), false, mode);
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(first)).orElseThrow())[0])
                            .isCloseTo(Math.pow(1.5, exchanges), Percentage.withPercentage(0.01));
                }
            });
            int gradients = 2 * exchanges;
            int most = mode == BackwardMode.FAST ? gradients : 2 * gradients;
            assertThat(counting.requests.get())
                    .as("the last gradients may come with a response")
                    .isBetween(most - 1, most);
        }
    }

    /** What a graph saved is never overwritten by a later message, and ordinary calls have regions meanwhile. */
    @Test
    void largeTensorsKeepTheirBytes() throws Exception {
        int calls = 1_000;
        try (TestWorkers workers = TestWorkers.of(directory.resolve("home"), 2)) {
            Autograd autograd = workers.autograd(0);
            autograd.context(context -> {
                Value first = workers.leaf(new long[] {1}, 2);
                Value sum = first;
                double expected = 1;
                for (int i = 1; i <= calls; i++) {
                    expected += i;
                    sum = workers.local("aten::add", sum, mean(workers, first, i));
                    if (i % 20 == 0) {
                        ordinary(workers, i);
                    }
                }
                autograd.backward(context, List.of(tensor(workers.local("aten::sum", sum))));
                try (ContextGradients gradients = autograd.gradients(context)) {
                    assertThat(elements(gradients.of(tensor(first)).orElseThrow()))
                            .containsExactly(expected);
                }
            });
            Waits.until("nothing is left", () -> workers.autograd(1).contexts().isEmpty());
        }
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("regions are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    private static Value large(double element) throws RejectedMessageException {
        return TestWorkers.ENGINE.run(
                TestWorkers.invocation("aten::full", new Value.Items(List.of(Value.of(ELEMENTS))), element));
    }

    /** The mean of a product that another worker computes: its graph saves the large tensor. */
    private static Value mean(TestWorkers workers, Value first, int i) throws RejectedMessageException {
        Value large = large(i);
        try (Response response =
                workers.worker(0).rpc().rpcSync("worker1", TestWorkers.invocation("aten::mul", large, first))) {
            return workers.local("aten::mean", response.value());
        } finally {
            tensor(large).storage().release();
        }
    }

    private static void ordinary(TestWorkers workers, int i) throws RejectedMessageException {
        Value large = large(-i);
        try (Response response =
                workers.worker(0).rpc().rpcSync("worker1", TestWorkers.invocation("aten::add", large, large))) {
            assertThat(elements(tensor(response.value()))[(int) ELEMENTS - 1]).isEqualTo(-2.0 * i);
        } finally {
            tensor(large).storage().release();
        }
    }
}
