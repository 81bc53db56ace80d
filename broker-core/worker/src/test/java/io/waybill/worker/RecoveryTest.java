package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The search for what an earlier incarnation left without a response, with something that throws in it. */
@Timeout(180)
class RecoveryTest {

    private static final String OPERATION = "count.up";
    private static final List<String> CALLERS = List.of("a", "b", "c");

    @TempDir
    private Path directory;

    private final AtomicInteger begun = new AtomicInteger();
    private final CountDownLatch mayRecover = new CountDownLatch(1);
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        mayRecover.countDown();
        workers.close();
    }

    static List<Throwable> failures() {
        return List.of(new IllegalStateException("planted"), new StackOverflowError("planted"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void finishesForEachPeerAfterAFailure(Throwable failure) throws Exception {
        Worker first = callee(workers.host.threads(), (message, outbox) -> {
            LateResponse forgotten = outbox.later();
            assertThat(forgotten).isNotNull();
        });
        List<CompletableFuture<Response>> calls = callFromEach();
        first.close();

        Worker second = callee(gated(), (message, outbox) -> outbox.respond(Value.of("recovered")));
        AtomicInteger failed = new AtomicInteger();
        second.parts.recovery.onDone(() -> {
            if (failed.getAndIncrement() < CALLERS.size() - 1) {
                throwUnchecked(failure);
            }
        });
        mayRecover.countDown();
        for (int i = 0; i < calls.size(); i++) {
            CompletableFuture<Response> call = calls.get(i);
            Waits.until("a response to " + CALLERS.get(i) + " after " + failed.get() + " failures", call::isDone);
            try (Response response = call.get(20, TimeUnit.SECONDS)) {
                assertThat(response.value()).isEqualTo(Value.of("recovered"));
            }
        }
        assertThat(failed).hasValue(CALLERS.size());
    }

    private static void throwUnchecked(Throwable failure) {
        if (failure instanceof Error e) {
            throw e;
        }
        throw (RuntimeException) failure;
    }

    private List<CompletableFuture<Response>> callFromEach() throws IOException {
        Request request = Request.invocation(
                        "callee", MessageType.NAMED_CALL, new Invocation(OPERATION, List.of(), Map.of()))
                .timeout(Duration.ofMinutes(1)); // longer than the test waits

        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (String caller : CALLERS) {
            calls.add(workers.join(caller).callAsync(request));
        }
        Waits.until("all were begun", () -> begun.get() == CALLERS.size());
        return calls;
    }

    /** Lets the recovery begin when the test says so. */
    private Threads gated() {
        Threads real = workers.host.threads();
        return (name, body) -> real.start(name, () -> {
            if (name.equals("callee-recovery")) {
                await(mayRecover);
            }
            body.run();
        });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Worker callee(Threads threads, MessageHandler handler) throws IOException {
        HandlerRegistry registry = workers.registry();
        Provider provider = new Provider("test", "1.0.0");
        registry.add(HandlerSpec.of(
                        HandlerKey.parse(OPERATION),
                        (message, outbox) -> {
                            begun.incrementAndGet();
                            handler.handle(message, outbox);
                        },
                        provider,
                        registry.newExecutor(provider, ExecutorSettings.forProcessors(2)))
                .withDelivery(DeliveryPolicy.AT_LEAST_ONCE));
        return workers.join("callee", registry, Workers.SETTINGS, threads);
    }
}
