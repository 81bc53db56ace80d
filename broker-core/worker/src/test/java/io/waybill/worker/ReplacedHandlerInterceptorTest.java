package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.AwayPolicy;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that arrive while the provider of an interceptor around their handler is replaced. */
@Timeout(120)
class ReplacedHandlerInterceptorTest {

    private static final String AUDIT = "org.acme.audit";
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;
    private Interceptors<HandlerInterceptor> interceptors;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        join(ParkingSettings.DEFAULT);
    }

    private void join(ParkingSettings parking) throws IOException {
        handlers = workers.registry(parking);
        server = workers.join("server" + parking.maxDurationNs(), handlers);
        caller = workers.join("caller" + parking.maxDurationNs());
        interceptors = server.interceptors().handlers();
        workers.handle(handlers, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handle(handlers, "text.held", (message, outbox) -> {
            hold();
            outbox.respond(Value.of("on"));
        });
        workers.handle(handlers, "text.inside", (message, outbox) -> {
            hold();
            outbox.dispatch(MessageType.NAMED_CALL, named("text.echo"), List.of(), List.of())
                    .close();
            outbox.respond(Value.of("on"));
        });
        workers.handle(handlers, "text.nested", (message, outbox) -> {
            hold();
            outbox.caller().call(request("text.echo")).close();
            outbox.respond(Value.of("on"));
        });
    }

    private void hold() {
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private Interceptors.Registration add(String version, AwayPolicy whenAway) {
        HandlerInterceptor audit = new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
                seen.add(version + " " + message.operation());
            }
        };
        return interceptors.add(new InterceptorSpec<>(
                List.of(HandlerKey.parse("text.*")),
                List.of(),
                audit,
                new Provider(AUDIT, version),
                0,
                "audit",
                whenAway));
    }

    private Request request(String operation) {
        return Request.operation(server.info().name(), operation).timeout(Duration.ofSeconds(60));
    }

    private static ByteBuffer named(String operation) {
        Request request = Request.operation("any", operation);
        return ByteBuffer.wrap(request.payloadArray(), 0, request.payloadLength());
    }

    private CompletableFuture<Response> call(String operation) {
        return caller.callAsync(request(operation));
    }

    private void parks(int count) {
        Waits.until(
                () -> server.counters().requestsParked() + " requests parked instead of " + count,
                () -> server.counters().requestsParked() >= count);
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.echo", "text.now"})
    void requestsWaitForTheNextVersion(String operation) throws Exception {
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PARK);
        interceptors.replacing(AUDIT);
        assertThat(first.withdraw(DRAIN_LIMIT).isComplete()).isTrue();
        CompletableFuture<Response> one = call(operation);
        CompletableFuture<Response> two = call(operation);
        parks(2);
        add("2.0.0", AwayPolicy.PARK);
        assertThat(one).as("a call during the update").isNotDone();
        interceptors.replaced(AUDIT);
        one.get(20, TimeUnit.SECONDS).close();
        two.get(20, TimeUnit.SECONDS).close();
        assertThat(seen).containsExactly("2.0.0 " + operation, "2.0.0 " + operation);
        nothingIsInFlight(1);
    }

    @Test
    void requestsPassOneThatSaysSo() {
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PASS);
        interceptors.replacing(AUDIT);
        assertThat(first.withdraw(DRAIN_LIMIT).isComplete()).isTrue();
        call("text.echo").orTimeout(20, TimeUnit.SECONDS).join().close();
        assertThat(seen).isEmpty();
        interceptors.replaced(AUDIT);
        nothingIsInFlight(0);
    }

    /** As when a component of another bundle needs a service of the one that is replaced. */
    @Test
    void requestsWaitForOneThatStopsWithTheProviderThatIsReplaced() throws Exception {
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PARK);
        interceptors.replacing("org.acme.store");
        first.withdraw(DRAIN_LIMIT);
        CompletableFuture<Response> call = call("text.echo");
        parks(1);
        add("1.0.0", AwayPolicy.PARK);
        interceptors.replaced("org.acme.store");
        call.get(20, TimeUnit.SECONDS).close();
        assertThat(seen).containsExactly("1.0.0 text.echo");
        nothingIsInFlight(1);
    }

    /** A request that waits for a thread was passed to its handler with its interceptors, and these wait for it. */
    @Test
    void keepsARequestThatWaitsForAThread() throws Exception {
        workers.handleOneByOne(handlers, "text.one", (message, outbox) -> {
            hold();
            outbox.respond(Value.of("on"));
        });
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PASS);
        CompletableFuture<Response> running = call("text.one");
        Waits.until("the handler runs", () -> seen.size() == 1);
        CompletableFuture<Response> behind = call("text.held");
        Waits.until("both are in flight", () -> first.status().inFlight() == 2);
        interceptors.replacing(AUDIT);
        CompletableFuture<Drained> drained = CompletableFuture.supplyAsync(() -> first.withdraw(DRAIN_LIMIT));
        Waits.until("it leaves", () -> first.status().leaving());
        hold.countDown();
        running.get(20, TimeUnit.SECONDS).close();
        behind.get(20, TimeUnit.SECONDS).close();
        assertThat(drained.get(20, TimeUnit.SECONDS).isComplete()).isTrue();
        assertThat(seen).containsExactly("1.0.0 text.one", "1.0.0 text.held");
        interceptors.replaced(AUDIT);
    }

    /** The version that leaves waits for the handler, and that for its own call or message: both get the version that leaves. */
    @ParameterizedTest
    @ValueSource(strings = {"text.nested", "text.inside"})
    void passesWhatARequestInFlightWaitsFor(String operation) throws Exception {
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PARK);
        CompletableFuture<Response> outer = call(operation);
        Waits.until("the handler runs", () -> seen.size() == 1);
        interceptors.replacing(AUDIT);
        CompletableFuture<Response> later = call("text.echo");
        parks(1);
        CompletableFuture<Drained> drained = CompletableFuture.supplyAsync(() -> first.withdraw(DRAIN_LIMIT));
        hold.countDown();
        outer.get(20, TimeUnit.SECONDS).close();
        assertThat(drained.get(20, TimeUnit.SECONDS).isComplete()).isTrue();
        add("2.0.0", AwayPolicy.PARK);
        interceptors.replaced(AUDIT);
        later.get(20, TimeUnit.SECONDS).close();
        assertThat(seen).containsExactly("1.0.0 " + operation, "1.0.0 text.echo", "2.0.0 text.echo");
        nothingIsInFlight(1);
    }

    /** Once the old version has left, a message inside a request waits for the next one. */
    @Test
    void aMessageInsideWaitsForTheNextVersion() throws Exception {
        CompletableFuture<Response> outer = call("text.inside");
        Waits.until("the handler runs", () -> server.counters().requestsBegun() == 1);
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PARK);
        interceptors.replacing(AUDIT);
        assertThat(first.withdraw(DRAIN_LIMIT).isComplete()).isTrue();
        hold.countDown();
        add("2.0.0", AwayPolicy.PARK);
        assertThat(outer).isNotDone();
        interceptors.replaced(AUDIT);
        outer.get(20, TimeUnit.SECONDS).close();
        assertThat(seen).containsExactly("2.0.0 text.echo");
        nothingIsInFlight(1);
    }

    @Test
    void requestsThatWaitTooLongFail() throws IOException {
        join(new ParkingSettings(1, Duration.ofMillis(50).toNanos()));
        Interceptors.Registration first = add("1.0.0", AwayPolicy.PARK);
        interceptors.replacing(AUDIT);
        first.withdraw(DRAIN_LIMIT);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.call(request("text.echo")))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_GONE))
                .withMessageContaining("an interceptor of it left, and none came within 50 ms");
        interceptors.replaced(AUDIT);
        caller.call(request("text.echo")).close();
    }

    private void nothingIsInFlight(int there) {
        assertThat(interceptors.statuses()).hasSize(there);
        Waits.until(
                () -> "no interceptor has requests in flight: " + interceptors.statuses(),
                () -> interceptors.statuses().stream().allMatch(status -> status.inFlight() == 0));
        assertThat(handlers.parkedRequests()).isZero();
        assertThat(handlers.statuses()).allMatch(status -> status.parked() == 0);
    }
}
