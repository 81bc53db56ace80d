package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.StuckSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers that don't come back, in real workers. */
@Timeout(300)
class StuckHandlerTest {

    private static final int MAX = 2;
    private static final WorkerSettings SOON = Workers.SETTINGS.toBuilder()
            .stuck(new StuckSettings(Duration.ofMillis(100).toNanos(), 0, MAX))
            .build();

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers, SOON);
        caller = workers.join("caller");
        workers.handle(handlers, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> outbox.respond(Value.of("on")));
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private static Request to(String operation, Duration timeout) {
        return Request.operation("server", operation).timeout(timeout);
    }

    /** Calls with a deadline that a busy machine does not exceed before the handler begins. */
    private CompletableFuture<Response> hang(String operation) {
        return caller.callAsync(to(operation, Duration.ofSeconds(3)));
    }

    private void othersAreServed() {
        for (String operation : List.of("text.echo", "text.now")) {
            try (Response response = caller.call(to(operation, Duration.ofSeconds(20)))) {
                assertThat(response.value()).isEqualTo(Value.of("on"));
            }
        }
    }

    private HandlerStatus status(String operation) {
        return handlers.statuses().stream()
                .filter(status -> status.key().equals(HandlerKey.parse(operation)))
                .findFirst()
                .orElseThrow();
    }

    private void awaitHold() {
        try {
            hold.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void assertTimedOut(CompletableFuture<Response> call) {
        assertThatThrownBy(call::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
    }

    private void takeOutOfService(String operation) {
        List<CompletableFuture<Response>> hanging = new ArrayList<>();
        for (int i = 0; i < MAX; i++) {
            hanging.add(hang(operation));
        }
        hanging.forEach(StuckHandlerTest::assertTimedOut);
        Waits.until("it is out of service", () -> status(operation).state() == HandlerInfo.State.STUCK);
        assertThat(status(operation).stuck()).isEqualTo(MAX);
        assertThat(server.counters().requestsStuck()).isEqualTo(MAX);
    }

    private void assertRefused(String operation) {
        assertThatThrownBy(() -> caller.call(to(operation, Duration.ZERO)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_STUCK))
                .hasMessageContaining("is out of service for " + operation);
    }

    @Test
    void refusesRequestsOfABlockingHandlerThatDoesNotComeBackUntilItDoes() {
        workers.handle(handlers, "text.hang", (message, outbox) -> {
            awaitHold();
            outbox.respond(Value.of("late"));
        });
        takeOutOfService("text.hang");
        assertRefused("text.hang");
        assertThat(server.stuck()).containsExactly("text.hang");
        othersAreServed();

        hold.countDown();
        Waits.until("the late responses were dropped", () -> caller.counters().lateResponses() == MAX);
        Waits.until("it is in service", () -> status("text.hang").state() == HandlerInfo.State.SERVING);
        Waits.until("none is counted as stuck", () -> status("text.hang").stuck() == 0);
        assertThat(server.stuck()).isEmpty();
        try (Response response = caller.call(to("text.hang", Duration.ofSeconds(20)))) {
            assertThat(response.value()).isEqualTo(Value.of("late"));
        }
    }

    @Test
    void refusesRequestsOfANonBlockingHandlerThatDoesNotComeBack() {
        workers.handleOnPoller(handlers, "text.hang", (message, outbox) -> awaitHold());
        takeOutOfService("text.hang");
        assertRefused("text.hang");
        othersAreServed();
    }

    @Test
    void pollsOnWhileManyNonBlockingHandlersDoNotComeBack() {
        int many = 12;
        List<CompletableFuture<Response>> hanging = new ArrayList<>();
        for (int i = 0; i < many; i++) {
            workers.handleOnPoller(handlers, "text.hang" + i, (message, outbox) -> {
                awaitHold();
                outbox.respond(Value.of("late"));
            });
        }
        for (int i = 0; i < many; i++) {
            hanging.add(caller.callAsync(to("text.hang" + i, Duration.ofSeconds(60))));
        }
        for (int i = 0; i < many; i++) {
            String operation = "text.hang" + i;
            Waits.until(operation + " runs", () -> status(operation).inFlight() == 1);
        }
        othersAreServed();

        hold.countDown();
        hanging.forEach(call -> call.join().close());
        othersAreServed();
    }

    @Test
    void runsANonBlockingHandlerElsewhereWhileItKeepsThePoller() {
        AtomicReference<Thread> first = new AtomicReference<>();
        AtomicReference<Thread> second = new AtomicReference<>();
        workers.handleOnPoller(handlers, "text.hang", (message, outbox) -> {
            if (first.compareAndSet(null, Thread.currentThread())) {
                awaitHold();
            }
            second.set(Thread.currentThread());
            outbox.respond(Value.of("done"));
        });
        CompletableFuture<Response> kept = caller.callAsync(to("text.hang", Duration.ofSeconds(60)));
        Waits.until("another thread polls", () -> first.get() != null);
        othersAreServed();

        caller.call(to("text.hang", Duration.ofSeconds(20))).close();
        assertThat(first.get().getName()).startsWith("server-poller-");
        assertThat(second.get().getName()).startsWith("test-text.hang-handler-");
        assertThat(kept).isNotDone();

        hold.countDown();
        kept.join().close();
        Waits.until("it runs on the poller again", () -> {
            caller.call(to("text.hang", Duration.ofSeconds(20))).close();
            return second.get().getName().startsWith("server-poller-");
        });
    }

    @Test
    void endsAndInterruptsANonBlockingHandlerWhoseBundleLeft() {
        CountDownLatch interrupted = new CountDownLatch(1);
        HandlerRegistry.Registration registration = workers.handleOnPoller(handlers, "text.hang", (message, outbox) -> {
            awaitHold();
            interrupted.countDown();
        });
        CompletableFuture<Response> hanging = caller.callAsync(to("text.hang", Duration.ZERO));
        Waits.until("it runs", () -> status("text.hang").inFlight() == 1);

        registration.withdraw(Duration.ofMillis(50));

        assertThatThrownBy(hanging::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_STUCK));
        Waits.until("the handler was interrupted", () -> interrupted.getCount() == 0);
        othersAreServed();
    }

    @Test
    void beginsNothingMoreInAHandlerThatIsOutOfService() {
        workers.handle(handlers, "text.hang", (message, outbox) -> awaitHold());
        takeOutOfService("text.hang");
        for (int i = 0; i < 20; i++) {
            assertRefused("text.hang");
        }
        assertThat(status("text.hang").inFlight()).isEqualTo(MAX);
    }

    // ---- deferred responses

    private final List<LateResponse> deferred = new CopyOnWriteArrayList<>();

    private void defer(String operation) {
        workers.handle(handlers, operation, (message, outbox) -> deferred.add(outbox.later()));
    }

    @Test
    void countsDeferredResponsesThatDoNotComeAndEndsTheirRequests() {
        defer("text.defer");
        takeOutOfService("text.defer");
        Waits.until("their requests have ended", () -> status("text.defer").inFlight() == 0);
        assertThat(status("text.defer").failed()).isEqualTo(MAX);
        assertRefused("text.defer");
        othersAreServed();

        deferred.forEach(late -> late.send(Value.of("late")));
        Waits.until("it is in service", () -> status("text.defer").state() == HandlerInfo.State.SERVING);
        Waits.until("none is counted as stuck", () -> status("text.defer").stuck() == 0);
        othersAreServed(); // behind whatever was sent before
        assertThat(caller.counters().lateResponses())
                .as("one response to each request")
                .isEqualTo(MAX);
    }

    @Test
    void countsADeferredResponseOfARequestWithoutADeadlineWhichStaysOpen() throws IOException {
        StuckSettings soon = new StuckSettings(0, Duration.ofMillis(100).toNanos(), MAX);
        HandlerRegistry patient = workers.registry();
        workers.handle(patient, "text.defer", (message, outbox) -> deferred.add(outbox.later()));
        Worker other = workers.join(
                "other", patient, Workers.SETTINGS.toBuilder().stuck(soon).build());
        CompletableFuture<Response> call =
                caller.callAsync(Request.operation("other", "text.defer").timeout(Duration.ZERO));
        Waits.until("it is counted", () -> other.counters().requestsStuck() == 1);
        assertThat(patient.statuses().get(0).inFlight()).isEqualTo(1);

        deferred.get(0).send(Value.of("at last"));
        try (Response response = call.join()) {
            assertThat(response.value()).isEqualTo(Value.of("at last"));
        }
        Waits.until("it is not counted", () -> patient.statuses().get(0).stuck() == 0);
        assertThat(other.counters().requestsStuck()).isEqualTo(1);
    }

    @Test
    void endsDeferredRequestsOfAHandlerThatLeft() {
        AtomicReference<HandlerRegistry.Registration> registration = new AtomicReference<>(
                workers.handle(handlers, "text.defer", (message, outbox) -> deferred.add(outbox.later())));
        CompletableFuture<Response> call = caller.callAsync(to("text.defer", Duration.ZERO));
        Waits.until("it is deferred", () -> deferred.size() == 1);

        registration.get().withdraw(Duration.ofMillis(50));
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_STUCK));
    }

    @Test
    void leavesAtOnceWhenOnlyDeferredResponsesToExpiredRequestsAreLeft() throws Exception {
        HandlerRegistry patient = workers.registry();
        workers.handle(patient, "text.defer", (message, outbox) -> deferred.add(outbox.later()));
        Worker other = workers.join(
                "other",
                patient,
                Workers.SETTINGS.toBuilder().drainLimit(Duration.ofSeconds(40)).build());
        CompletableFuture<Response> call =
                caller.callAsync(Request.operation("other", "text.defer").timeout(Duration.ofSeconds(2)));
        assertTimedOut(call);
        Waits.until("it is deferred", () -> deferred.size() == 1);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> {
            try {
                other.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        closing.get(25, TimeUnit.SECONDS);
        assertThat(patient.statuses().get(0).inFlight()).isZero();
    }
}
