package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.injection.InjectionSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Passes whose messages are lost on the way, or come late. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class LostGradientsTest {

    private static final MessageType BACKWARD = MessageType.BACKWARD_AUTOGRAD_REQ;
    private static final InjectionSettings NONE = InjectionSettings.NONE;
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final int WORKERS = 4;

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[WORKERS];

    private TestWorkers join(IntFunction<WorkerSettings.Builder> settings) throws Exception {
        return TestWorkers.bare(
                directory.resolve("home"),
                WORKERS,
                (worker, id) -> worker.settings(settings.apply(id).build())
                        .with(new RelayHandler())
                        .withBroker(broker -> all[id] = new Autograd(broker, TestWorkers.NATIVES))
                        .withBroker(broker -> new ForwardRequests(all[id]))
                        .withBroker(broker -> new PassRequests(all[id]))
                        .withBroker(broker -> new BackwardRequests(all[id])));
    }

    private static Value loss(TestWorkers workers, String route, Value leaf) {
        try (Response response =
                workers.worker(0).call(RelayHandler.request(route, leaf).timeout(LONG))) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            return workers.local("aten::sum", workers.keep(response.value("tensor")));
        }
    }

    private void step(TestWorkers workers, String route, BackwardMode mode) {
        Value leaf = workers.leaf(new long[] {2}, 1, 2);
        all[0].context(context -> {
            all[0].backward(context, List.of(tensor(loss(workers, route, leaf))), false, mode);
            double gradient = Math.pow(RelayHandler.FACTOR, route.split(" ").length);
            try (ContextGradients gradients = all[0].gradients(context)) {
                assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(gradient, gradient);
            }
        });
    }

    private void awaitNoPass() {
        for (int i = 0; i < WORKERS; i++) {
            Autograd each = all[i];
            String name = "worker" + i;
            Waits.until(() -> name + " has " + each.passes() + " passes", () -> each.passes() == 0);
        }
    }

    private void awaitNothing(TestWorkers workers) {
        for (Autograd each : all) {
            Waits.until(
                    () -> "contexts are released: " + each.contexts(),
                    () -> each.contexts().isEmpty());
        }
        workers.release();
        Waits.until(
                () -> TestWorkers.NATIVES.liveCount() + " handles, " + TestWorkers.NATIVES.storageCount() + " storages",
                () -> TestWorkers.NATIVES.liveCount() == 0 && TestWorkers.NATIVES.storageCount() == 0);
    }

    /** Only the worker that loses its messages has a timeout: the others are notified. */
    @ParameterizedTest
    @Tag("ci")
    @CsvSource({"SMART, 0", "SMART, 2", "FAST, 1", "FAST, 2"})
    void aMessageThatIsLostFailsThePassEverywhere(BackwardMode mode, int losing) throws Exception {
        try (TestWorkers workers = join(id -> WorkerSettings.builder()
                .defaultTimeout(id == losing ? Duration.ofSeconds(3) : LONG)
                .injection(id == losing ? NONE.withDrop(BACKWARD) : NONE))) {
            Value leaf = workers.leaf(new long[] {2}, 1, 2);
            all[0].context(context -> {
                Value loss = loss(workers, "worker1 worker2 worker3", leaf);
                CallException failure = catchThrowableOfType(
                        CallException.class, () -> all[0].backward(context, List.of(tensor(loss)), true, mode));
                assertThat(failure.code()).as(failure.getMessage()).isEqualTo(ErrorCode.TIMED_OUT);
                assertThat(failure.getMessage()).matches(prefixes(losing) + "(?!Error on Node)(?s).*");
                awaitNoPass();
            });
            if (losing != 0) { // each message of a pass is lost once
                step(workers, losing == 1 ? "worker2 worker3" : "worker1 worker3", mode);
            }
            awaitNothing(workers);
        }
    }

    private static String prefixes(int workers) {
        return IntStream.rangeClosed(1, workers)
                .mapToObj(id -> "Error on Node " + id + ": ")
                .collect(Collectors.joining());
    }

    @Test
    void messagesThatComeLateChangeNothing() throws Exception {
        try (TestWorkers workers = join(id -> WorkerSettings.builder()
                .defaultTimeout(LONG)
                .injection(NONE.withDelay(BACKWARD, Duration.ofMillis(50L * id))))) {
            for (BackwardMode mode : BackwardMode.values()) {
                step(workers, "worker1 worker2 worker3", mode);
                step(workers, "worker2 worker1 worker2", mode);
            }
            awaitNoPass();
            awaitNothing(workers);
        }
    }
}
