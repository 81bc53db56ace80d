package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerDirectory;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import io.waybill.worker.peer.PeerLink;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Calls to a worker that leaves in order and joins again: what it had not begun is run by its successor, once. {@code -Dwaybill.succession.restarts} says how
 * often it is restarted under load.
 */
@Timeout(300)
class SuccessorTest {

    private static final String OPERATION = "count.up";
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final int RESTARTS = Integer.getInteger("waybill.succession.restarts", 5);
    private static final int CALLS_PER_S = 2_000;

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> begun = new ConcurrentLinkedQueue<>();
    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        hold.countDown();
        workers.close();
    }

    private static WorkerSettings settings(Duration drainLimit, Duration successionLimit) {
        return Workers.SETTINGS.toBuilder()
                .drainLimit(drainLimit)
                .recovery(new RecoverySettings(Duration.ofSeconds(30), successionLimit))
                .build();
    }

    private Worker server(MessageHandler handler, WorkerSettings settings) throws IOException {
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, OPERATION, handler);
        return workers.join("server", registry, settings);
    }

    private Worker server(String incarnation) throws IOException {
        return server(incarnation, LONG);
    }

    private Worker server(String incarnation, Duration successionLimit) throws IOException {
        return server(
                (message, outbox) -> {
                    begun.add(incarnation);
                    outbox.respond(Value.of(incarnation));
                },
                settings(Duration.ofSeconds(20), successionLimit));
    }

    /** One that is inside a request when it is closed, so that it drains, and reads no more. */
    private Worker held(Duration drainLimit, Duration successionLimit) throws IOException {
        return server(
                (message, outbox) -> {
                    begun.add("held");
                    hold();
                    outbox.respond(Value.of("held"));
                },
                settings(drainLimit, successionLimit));
    }

    private void hold() {
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Request request() {
        return Request.operation("server", OPERATION).timeout(Duration.ofSeconds(40));
    }

    private static CompletableFuture<String> call(Worker caller) {
        return caller.callAsync(request()).thenApply(SuccessorTest::text);
    }

    private static String text(Response response) {
        try (response) {
            return ((Value.Text) response.value()).value();
        }
    }

    private static CompletableFuture<Void> closing(Worker worker) {
        return CompletableFuture.runAsync(() -> {
            try {
                worker.close();
            } catch (IOException e) {
                throw new CompletionException(e);
            }
        });
    }

    private static ErrorCode failure(CompletableFuture<?> call) throws Exception {
        return exception(call).code();
    }

    private static CallException exception(CompletableFuture<?> call) throws Exception {
        try {
            call.get(20, TimeUnit.SECONDS);
            throw new AssertionError("expected a failure, found a response");
        } catch (ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(CallException.class);
            return (CallException) e.getCause();
        }
    }

    /** Who calls: one that serves has links to all that it talked with, one that only calls does not. */
    @ParameterizedTest
    @EnumSource(WorkerSettings.Role.class)
    void runsWhatArrivedWhileTheWorkerDrained(WorkerSettings.Role role) throws Exception {
        Worker first = held(Duration.ofSeconds(20), LONG);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder().role(role).build());
        CompletableFuture<String> running = call(caller);
        Waits.until("a request runs", () -> begun.size() == 1);
        CompletableFuture<Void> closing = closing(first);
        CompletableFuture<String> unread = null;
        List<CompletableFuture<String>> all = new ArrayList<>();
        for (int i = 0; i < 20; i++) { // the first ones may be read before the worker drains
            unread = call(caller);
            all.add(unread);
            LockSupport.parkNanos(1_000_000);
        }
        hold.countDown();
        closing.get(20, TimeUnit.SECONDS);
        assertThat(running.get(20, TimeUnit.SECONDS)).isEqualTo("held");
        assertThat(unread).as("a call that was not begun").isNotDone();
        server("second");
        assertThat(unread.get(20, TimeUnit.SECONDS)).isEqualTo("second");
        for (CompletableFuture<String> each : all) {
            each.get(20, TimeUnit.SECONDS);
        }
        assertThat(begun).as("requests begun").hasSize(1 + all.size());
        assertThat(caller.pendingCalls()).isZero();
        assertThat(caller.counters().lateResponses()).isZero();
    }

    @Test
    void waitsForAWorkerThatHasLeft() throws Exception {
        Worker first = server("first");
        Worker caller = workers.join("caller");
        assertThat(call(caller).get(20, TimeUnit.SECONDS)).isEqualTo("first");
        PeerLink link = Workers.linkTo(caller, "server");
        first.close();
        Waits.until("the caller sees that it has left", () -> link.condition() == PeerLink.Condition.LEFT);
        CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> text(caller.call(request())));
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.call(request().timeout(SHORT)))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT))
                .withMessageContaining("worker server has left, and has not joined again yet");
        server("second");
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo("second");
    }

    @Test
    void endsWhatWasNotBegunWhenNoSuccessorComesInTime() throws Exception {
        Worker first = held(Duration.ofSeconds(20), SHORT);
        Worker caller = workers.join("caller");
        CompletableFuture<String> unread = leftUnread(first, caller);
        CallException lost = exception(unread);
        assertThat(lost.code()).isEqualTo(ErrorCode.WORKER_LOST);
        assertThat(lost.begun()).as("begun, of %s", lost).isEqualTo(CallException.Begun.NO);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.call(request()))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST))
                .withMessageContaining("has left, and has not joined again in time");
        begun.clear();
        server("second");
        assertThat(call(caller).get(20, TimeUnit.SECONDS)).isEqualTo("second");
        assertThat(begun).as("begun by the second: only what was sent to it").containsExactly("second");
    }

    /** Lets a worker that runs a request leave in order. Returns a call that it had not read. */
    private CompletableFuture<String> leftUnread(Worker leaving, Worker caller) throws Exception {
        CompletableFuture<String> running = call(caller);
        Waits.until("a request runs", () -> begun.size() == 1);
        CompletableFuture<Void> closing = closing(leaving);
        Waits.until("the worker drains", () -> isUnread(caller));
        CompletableFuture<String> unread = call(caller);
        hold.countDown();
        closing.get(20, TimeUnit.SECONDS);
        running.get(20, TimeUnit.SECONDS);
        return unread;
    }

    /** Returns whether the worker reads no more: a call stays unread for a while. */
    private boolean isUnread(Worker caller) {
        CompletableFuture<String> probe = call(caller);
        int before = begun.size();
        long untilNs = System.nanoTime() + 200_000_000;
        while (System.nanoTime() - untilNs < 0) {
            if (begun.size() > before) {
                return false;
            }
            LockSupport.parkNanos(1_000_000);
        }
        return !probe.isDone();
    }

    /** A request that was begun belongs to the process that began it, also when that left before its end. */
    @Test
    void doesNotRunAgainWhatWasBegun() throws Exception {
        Worker first = held(Duration.ofMillis(100), LONG);
        Worker caller = workers.join("caller");
        CompletableFuture<String> running = call(caller);
        Waits.until("a request runs", () -> begun.size() == 1);
        first.close();
        server("second");
        assertThat(failure(running)).isEqualTo(ErrorCode.WORKER_LOST);
        assertThat(call(caller).get(20, TimeUnit.SECONDS)).isEqualTo("second");
        assertThat(begun).containsExactly("held", "second");
    }

    @Test
    void goesOnOverSeveralDepartures() throws Exception {
        Worker first = held(Duration.ofSeconds(20), LONG);
        Worker caller = workers.join("caller");
        CompletableFuture<String> unread = leftUnread(first, caller);
        // the second one leaves before it has read anything
        WorkerDirectory second = workers.home.join("server");
        assertThat(second.succession().firstEpoch()).isEqualTo(first.directory().epoch());
        second.leave(LONG);
        server("third");
        assertThat(unread.get(20, TimeUnit.SECONDS)).isEqualTo("third");
        assertThat(call(caller).get(20, TimeUnit.SECONDS)).isEqualTo("third");
    }

    @Test
    void endsAtOnceWhenTheWorkerWaitsForNoSuccessor() throws Exception {
        Worker first = server("first", Duration.ZERO);
        Worker caller = workers.join("caller");
        call(caller).get(20, TimeUnit.SECONDS);
        first.close();
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.call(request()))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST));
    }

    @Test
    void noCallFailsWhileAWorkerIsRestartedUnderLoad() throws Exception {
        Map<Long, Integer> runs = new ConcurrentHashMap<>();
        MessageHandler counting = (message, outbox) -> {
            runs.merge(((Value.Int) message.invocation().named().get("number")).value(), 1, Integer::sum);
            outbox.respond(Value.NONE);
        };
        WorkerSettings settings = settings(Duration.ofSeconds(20), LONG);
        Worker server = server(counting, settings);
        Worker caller = workers.join("caller");
        Map<String, Integer> failures = new ConcurrentHashMap<>();
        AtomicLong sent = new AtomicLong();
        AtomicLong ended = new AtomicLong();
        CompletableFuture<Void> stop = new CompletableFuture<>();
        Thread load = new Thread(() -> load(caller, sent, ended, failures, stop), "load");
        load.start();
        for (int restart = 0; restart < RESTARTS; restart++) {
            long before = ended.get();
            Waits.until("calls go on", () -> ended.get() > before + 100);
            server.close();
            server = server(counting, settings);
        }
        stop.complete(null);
        load.join();
        Waits.until(() -> ended.get() + " of " + sent.get() + " calls ended", () -> ended.get() == sent.get());
        assertThat(failures).as("failures over %d restarts", RESTARTS).isEmpty();
        assertThat(runs).as("calls that ran").hasSize((int) sent.get());
        assertThat(runs.values()).as("runs of each").allMatch(count -> count == 1);
        assertThat(caller.pendingCalls()).isZero();
    }

    private static void load(
            Worker caller,
            AtomicLong sent,
            AtomicLong ended,
            Map<String, Integer> failures,
            CompletableFuture<Void> stop) {
        long startNs = System.nanoTime();
        while (!stop.isDone()) {
            long earlyNs = startNs + sent.get() * (1_000_000_000L / CALLS_PER_S) - System.nanoTime();
            if (earlyNs > 0) {
                LockSupport.parkNanos(earlyNs);
                continue;
            }
            long number = sent.getAndIncrement();
            try {
                caller.callAsync(request(number)).whenComplete((response, failure) -> {
                    if (failure == null) {
                        response.close();
                    } else {
                        failures.merge(failure.getMessage().replaceAll("[0-9a-f]{16}|[0-9]+", "N"), 1, Integer::sum);
                    }
                    ended.incrementAndGet();
                });
            } catch (CallException e) {
                failures.merge(e.getMessage(), 1, Integer::sum);
                ended.incrementAndGet();
            }
        }
    }

    private static Request request(long number) {
        return Request.invocation(
                "server",
                MessageType.NAMED_CALL,
                new Invocation(OPERATION, List.of(), Map.of("number", Value.of(number))));
    }
}
