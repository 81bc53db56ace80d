package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.TraceContext;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.Boots;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import io.waybill.worker.metrics.WorkerCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that outlive the incarnation of the worker they were sent to. */
@Timeout(180)
class AcrossIncarnationsTest {

    private static final String OPERATION = "count.up";

    @TempDir
    private Path directory;

    private Workers workers;
    private final AtomicInteger begun = new AtomicInteger();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private Worker callee(DeliveryPolicy policy, MessageHandler handler) throws IOException {
        return callee(workers, policy, handler);
    }

    private Worker callee(Workers workers, DeliveryPolicy policy, MessageHandler handler) throws IOException {
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
                .withDelivery(policy));
        return workers.join("callee", registry);
    }

    private static void neverRespond(io.waybill.api.Message message, io.waybill.api.handler.Outbox outbox) {
        LateResponse forgotten = outbox.later();
        assertThat(forgotten).isNotNull();
    }

    private static Request request() {
        return Request.invocation(
                "callee", MessageType.NAMED_CALL, new Invocation(OPERATION, List.of(), Map.of("by", Value.of(1))));
    }

    private CompletableFuture<Response> begin(Worker caller) throws Exception {
        int before = begun.get();
        CompletableFuture<Response> call = caller.callAsync(request());
        Waits.until("begun", () -> begun.get() > before);
        return call;
    }

    @Test
    void isServedByTheNextIncarnationWhenDeclaredSo() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join("caller");
        CompletableFuture<Response> call = begin(caller);
        first.close();
        callee(
                DeliveryPolicy.AT_LEAST_ONCE,
                (message, outbox) -> outbox.response().bool("again", message.isRedelivery()));
        try (Response response = call.get(20, TimeUnit.SECONDS)) {
            assertThat(response.value("again")).isEqualTo(Value.of(true));
        }
        assertThat(begun).hasValue(2);
        try (Response response = caller.call(request())) {
            assertThat(response.value("again")).isEqualTo(Value.of(false));
        }
    }

    @Test
    void hasItsContextInEachIncarnation() throws Exception {
        CallContext context = CallContext.EMPTY.with("k", "one").with(new TraceContext(1, 2, 3, 1, "v=1"));
        List<CallContext> seen = new CopyOnWriteArrayList<>();
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, (message, outbox) -> {
            seen.add(CallContext.current());
            neverRespond(message, outbox);
        });
        Worker caller = workers.join("caller");
        ContextScope scope = context.makeCurrent();
        CompletableFuture<Response> call = begin(caller);
        scope.close();
        first.close();
        callee(DeliveryPolicy.AT_LEAST_ONCE, (message, outbox) -> {
            seen.add(CallContext.current());
            outbox.respond(Value.NONE);
        });
        call.get(20, TimeUnit.SECONDS).close();
        assertThat(seen).hasSize(2);
        assertThat(seen.get(0).text("k")).contains("one");
        assertThat(seen.get(1)).as("in the second incarnation").isEqualTo(seen.get(0));
    }

    @Test
    void endsWithTheIncarnationWhenItsHandlerIsBegunAtMostOnce() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_MOST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join("caller");
        CompletableFuture<Response> call = begin(caller);
        first.close();
        assertLost(call, "left before it responded");
        assertThat(caller.pendingCalls()).isZero();
    }

    @Test
    void isRefusedByANextIncarnationWhoseHandlerIsBegunAtMostOnce() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join("caller");
        CompletableFuture<Response> call = begin(caller);
        first.close();
        callee(
                DeliveryPolicy.AT_MOST_ONCE,
                (message, outbox) -> outbox.response().bool("again", true));
        assertLost(call, "which may have begun it and did not respond");
        assertThat(begun).hasValue(1);
    }

    @Test
    void endsWhenTheWorkerDoesNotReturn() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .recovery(new RecoverySettings(Duration.ofMillis(100)))
                        .build());
        CompletableFuture<Response> call = begin(caller);
        first.close();
        assertLost(call, "did not return within 100 ms");
    }

    @Test
    void endsAtOnceWhereNoReturnIsAwaited() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .recovery(new RecoverySettings(Duration.ZERO))
                        .build());
        CompletableFuture<Response> call = begin(caller);
        first.close();
        assertLost(call, "left before it responded");
        Worker second = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        assertThat(second.directory().epoch()).isEqualTo(2);
        begin(caller);
        assertThat(begun).as("what ended was not begun again").hasValue(2);
    }

    @Test
    void keepsItsDeadlineWhileTheWorkerIsAway() throws Exception {
        Worker first = callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        Worker caller = workers.join("caller");
        CompletableFuture<Response> call = caller.callAsync(request().timeout(Duration.ofMillis(300)));
        Waits.until("begun", () -> begun.get() == 1);
        first.close();
        assertThatThrownBy(call::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(CallException.class)
                .cause()
                .extracting(e -> ((CallException) e).code())
                .isEqualTo(ErrorCode.TIMED_OUT);
        callee(DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
        begin(caller);
        assertThat(begun).as("what expired was not begun again").hasValue(2);
    }

    /** Its deadline is on a clock that began from 0 since: it may look as if it were hours away. */
    @Test
    void isNotRunAfterTheHostWasRestartedWhenItHasADeadline() throws Exception {
        Path elsewhere = directory.resolve("two-boots");
        try (Workers before = new Workers(elsewhere, Boots.in(Host.real(), "first"))) {
            callee(before, DeliveryPolicy.AT_LEAST_ONCE, AcrossIncarnationsTest::neverRespond);
            Worker caller = before.join("caller");
            caller.callAsync(request().timeout(Duration.ofHours(1)));
            caller.callAsync(request().timeout(Duration.ZERO));
            Waits.until("both begun", () -> begun.get() == 2);
        }
        begun.set(0);
        try (Workers after = new Workers(elsewhere, Boots.in(Host.real(), "second"))) {
            Worker callee =
                    callee(after, DeliveryPolicy.AT_LEAST_ONCE, (message, outbox) -> outbox.respond(Value.of(true)));
            after.join("caller");
            WorkerCounters counters = callee.counters();
            Waits.until("both are dealt with", () -> counters.requestsBegun() + counters.requestsExpired() == 2);
            assertThat(counters.requestsExpired())
                    .as("requests refused because their deadline is one of an earlier boot")
                    .isEqualTo(1);
            Waits.until("the one without a deadline was run", () -> begun.get() == 1);
        }
        assertThat(begun).hasValue(1);
    }

    private static void assertLost(CompletableFuture<Response> call, String text) {
        assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST))
                .hasMessageContaining(text);
    }
}
