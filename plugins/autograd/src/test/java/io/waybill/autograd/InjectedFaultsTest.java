package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Contexts end in all workers, whatever becomes of the messages. */
@Tag("ci")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class InjectedFaultsTest {

    private static final MessageType CLEAN_UP = MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ;
    private static final InjectionSettings NONE = InjectionSettings.NONE;
    private static final String ROUTE = "worker1 worker2 worker3";
    private static final double GRADIENT = Math.pow(RelayHandler.FACTOR, 3);
    private static final int WORKERS = 4;

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[WORKERS];

    /** Joins workers that don't look for contexts that are left. */
    private TestWorkers join(InjectionSettings injection) throws Exception {
        return join(injection, Duration.ofDays(1));
    }

    private TestWorkers join(InjectionSettings injection, Duration lookPeriod) throws Exception {
        WorkerSettings settings = WorkerSettings.builder()
                .defaultTimeout(Duration.ofSeconds(20))
                .injection(injection)
                .build();
        return TestWorkers.bare(
                directory.resolve("home"),
                WORKERS,
                (worker, id) -> worker.settings(settings)
                        .with(new RelayHandler())
                        .withBroker(broker -> all[id] = new Autograd(broker, TestWorkers.NATIVES, lookPeriod))
                        .withBroker(broker -> new ForwardRequests(all[id]))
                        .withBroker(broker -> new PassRequests(all[id]))
                        .withBroker(broker -> new BackwardRequests(all[id])));
    }

    private static Value loss(TestWorkers workers, Value leaf) {
        try (Response response = workers.worker(0).call(RelayHandler.request(ROUTE, leaf))) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            return workers.local("aten::sum", workers.keep(response.value("tensor")));
        }
    }

    private void step(TestWorkers workers) {
        Autograd autograd = all[0];
        Value leaf = workers.leaf(new long[] {2}, 1, 2);
        autograd.context(context -> {
            autograd.backward(context, List.of(tensor(loss(workers, leaf))));
            try (ContextGradients gradients = autograd.gradients(context)) {
                assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(GRADIENT, GRADIENT);
            }
        });
    }

    private void awaitNothing(TestWorkers workers) {
        for (int i = 0; i < WORKERS; i++) {
            Autograd each = all[i];
            String name = "worker" + i;
            Waits.until(
                    () -> name + " has " + each.contexts() + " and " + each.passes() + " passes",
                    () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.release();
        Waits.until(
                () -> TestWorkers.NATIVES.liveCount() + " handles, " + TestWorkers.NATIVES.storageCount() + " storages",
                () -> TestWorkers.NATIVES.liveCount() == 0 && TestWorkers.NATIVES.storageCount() == 0);
    }

    static Stream<InjectionSettings> faultsOfCleanUp() {
        return Stream.of(
                NONE.withFail(CLEAN_UP).withTimes(5),
                NONE.withDrop(CLEAN_UP),
                NONE.withDelay(CLEAN_UP, Duration.ofMillis(300)),
                NONE.withDuplicate(CLEAN_UP),
                NONE.withReorder(CLEAN_UP),
                NONE.withFail(CLEAN_UP).withDuplicate(CLEAN_UP).withDelay(CLEAN_UP, Duration.ofMillis(100)));
    }

    @ParameterizedTest
    @MethodSource("faultsOfCleanUp")
    void cleanUpReachesAllWorkers(InjectionSettings faults) throws Exception {
        try (TestWorkers workers = join(faults)) {
            for (int i = 0; i < 3; i++) {
                step(workers);
            }
            awaitNothing(workers);
        }
    }

    @Test
    void gradientsThatAreNotSentFailThePassEverywhere() throws Exception {
        try (TestWorkers workers = join(NONE.withFail(MessageType.BACKWARD_AUTOGRAD_REQ))) {
            Autograd autograd = all[0];
            for (BackwardMode mode : BackwardMode.values()) {
                Value leaf = workers.leaf(new long[] {2}, 1, 2);
                autograd.context(context -> {
                    Value loss = loss(workers, leaf);
                    int failed = 0;
                    while (failed < 3) { // at each hop, and the notifications of it
                        try {
                            autograd.backward(context, List.of(tensor(loss)), true, mode);
                            break;
                        } catch (CallException e) {
                            assertThat(e.code()).isEqualTo(ErrorCode.INTENTIONAL_FAILURE);
                            failed++;
                        }
                    }
                    assertThat(failed).isPositive();
                });
                awaitNothing(workers);
            }
        }
    }

    @Test
    void aCallThatComesAfterTheEndOfItsContextDoesNotBeginItFromScratch() throws Exception {
        try (TestWorkers workers = join(NONE.withDelay(MessageType.FORWARD_AUTOGRAD_REQ, Duration.ofMillis(400)))) {
            Value leaf = workers.leaf(new long[] {2}, 1, 2);
            Autograd autograd = all[0];
            long context = autograd.open();
            CompletableFuture<Response> late = workers.worker(0).callAsync(RelayHandler.request("worker1", leaf));
            autograd.release(context);
            assertThatThrownBy(late::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasMessageContaining("Could not find autograd context with id: " + context);
            awaitNothing(workers);
        }
    }

    /** The clean-up that a worker does not get: it asks the driver. */
    @Test
    void aWorkerThatIsNotNotifiedAsksTheDriver() throws Exception {
        try (TestWorkers workers = join(NONE.withFail(CLEAN_UP).withTimes(1_000), Duration.ofMillis(300))) {
            step(workers);
            awaitNothing(workers);
        }
    }
}
