package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Access policies in front of handlers, in real workers. */
@Timeout(300)
class AccessPolicyCallTest {

    private static final Provider GUARD = new Provider("org.acme.guard", "1.2.0");
    private static final Duration PARKING = Duration.ofSeconds(1);
    private static final AccessPolicy ALLOW = request -> Decision.allow();
    private static final AccessPolicy DENY = request -> Decision.deny("not on the list");

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger ran = new AtomicInteger();
    private Workers workers;
    private HandlerRegistry handlers;
    private AccessPolicies policies;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry(new ParkingSettings(1_000_000, PARKING.toNanos()));
        policies = handlers.policies();
        workers.handle(handlers, "text.echo", (message, outbox) -> {
            ran.getAndIncrement();
            outbox.respond(Value.of("on"));
        });
        server = workers.join("server", handlers);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private static Request echo() {
        return Request.operation("server", "text.echo").timeout(Duration.ofSeconds(20));
    }

    private void assertServed() {
        try (Response response = caller.call(echo())) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
    }

    private void assertDenied(String... texts) {
        assertThatThrownBy(() -> caller.call(echo()))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED))
                .hasMessageContainingAll("text.echo", "caller", "org.acme.guard 1.2.0")
                .satisfies(e -> assertThat(List.of(texts))
                        .allSatisfy(text -> assertThat(e).hasMessageContaining(text)));
    }

    /** Throws from its own methods, too. */
    private static final class Nasty extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("in getMessage");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("in toString");
        }
    }

    static Stream<Arguments> refusingPolicies() {
        return Stream.of(
                Arguments.of("denies", DENY, "not on the list"),
                Arguments.of("returns null", (AccessPolicy) request -> null, "no decision"),
                Arguments.of(
                        "throws a RuntimeException",
                        (AccessPolicy) request -> {
                            throw new IllegalStateException("broken");
                        },
                        "broken"),
                Arguments.of(
                        "throws an Error",
                        (AccessPolicy) request -> {
                            throw new StackOverflowError();
                        },
                        "StackOverflowError"),
                Arguments.of(
                        "throws what can't be shown",
                        (AccessPolicy) request -> {
                            throw new Nasty();
                        },
                        "Nasty"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("refusingPolicies")
    void refusesTheRequestWhenThePolicy(String name, AccessPolicy policy, String text) {
        assertServed();
        AccessPolicies.Registration registration = policies.add(GUARD, policy);
        for (int i = 0; i < 3; i++) {
            assertDenied(text);
        }
        assertThat(ran.get()).isEqualTo(1);
        assertThat(server.counters().failures(ErrorCode.ACCESS_DENIED)).isEqualTo(3);
        registration.remove();
        assertServed();
        Waits.until( // a caller hears its response before the handler's count is back
                () -> "nothing is in flight: " + handlers.statuses(),
                () -> handlers.statuses().stream().allMatch(status -> status.inFlight() == 0));
    }

    @Test
    void servesWhatThePolicyAllows() throws IOException {
        List<AccessRequest> asked = new CopyOnWriteArrayList<>();
        policies.add(GUARD, request -> {
            asked.add(request);
            return Decision.allow();
        });
        assertServed();
        try (Response response = server.call(echo())) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
        long uid = ((Number) Files.getAttribute(workers.home.path(), "unix:uid")).longValue();
        assertThat(asked).hasSize(2);
        assertThat(asked.get(0).workerName()).isEqualTo("caller");
        assertThat(asked.get(0).uid()).isEqualTo(uid);
        assertThat(asked.get(0).type()).isSameAs(MessageType.NAMED_CALL);
        assertThat(asked.get(0).operation()).isEqualTo("text.echo");
        assertThat(asked.get(0).id() >>> 48).isEqualTo(asked.get(0).worker());
        assertThat(asked).extracting(AccessRequest::isOwn).containsExactly(false, true);
    }

    @Test
    void asksEachPolicyAndAllMustAllow() {
        policies.add(new Provider("org.acme.first", "1.0.0"), ALLOW);
        AccessPolicies.Registration second = policies.add(GUARD, DENY);
        assertDenied();
        second.remove();
        assertServed();
    }

    @Test
    void asksAboutNoControlMessages() {
        policies.add(GUARD, DENY);
        assertThatThrownBy(() -> caller.call(
                        Request.raw("server", MessageType.of(0x1f1), ByteBuffer.wrap(new byte[] {1, 2, 3}), List.of())
                                .timeout(Duration.ofSeconds(20))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_TYPE));
    }

    @Test
    void asksOnceAboutARequestThatParks() {
        AtomicInteger asked = new AtomicInteger();
        policies.add(GUARD, request -> {
            asked.getAndIncrement();
            return Decision.allow();
        });
        HandlerRegistry.Registration away =
                workers.handle(handlers, "text.away", (message, outbox) -> outbox.respond(Value.of(1)));
        away.withdraw(Duration.ofSeconds(1));
        CompletableFuture<Response> call =
                caller.callAsync(Request.operation("server", "text.away").timeout(Duration.ofSeconds(20)));
        Waits.until("it is parked", () -> handlers.parkedRequests() == 1);
        workers.handle(handlers, "text.away", (message, outbox) -> outbox.respond(Value.of(2)));
        call.join().close();
        assertThat(asked.get()).isEqualTo(1);
    }

    @Test
    void refusesInPlaceOfAPolicyThatHangs() {
        policies.add(GUARD, request -> {
            if (request.workerName().equals("caller")) {
                awaitHold();
            }
            return Decision.allow();
        });
        assertDenied("did not decide within 100 ms");
        for (int i = 0; i < 5; i++) {
            assertDenied("has not returned");
        }
        assertThat(ran.get()).isZero();
        hold.countDown();
        Waits.until("it is asked again", this::isServed);
        assertThat(server.counters().failures(ErrorCode.ACCESS_DENIED)).isGreaterThanOrEqualTo(6);
        Waits.until( // a caller hears its response before the handler's count is back
                () -> "nothing is in flight: " + handlers.statuses(),
                () -> handlers.statuses().stream().allMatch(status -> status.inFlight() == 0));
    }

    private boolean isServed() {
        try {
            caller.call(echo()).close();
            return true;
        } catch (CallException e) {
            return false;
        }
    }

    private void awaitHold() {
        try {
            hold.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void waitsForAPolicyThatIsAwayAndRefusesThen() {
        AccessPolicies.Registration registration = policies.add(GUARD, ALLOW);
        assertServed();
        registration.withdraw();
        CompletableFuture<Response> early = caller.callAsync(echo());
        Waits.until("it waits", () -> handlers.parkedRequests() == 1);
        registration = policies.add(GUARD, ALLOW);
        early.join().close();

        registration.withdraw();
        assertDenied("is away", "did not return within 1000 ms");
        CompletableFuture<Response> late = caller.callAsync(echo());
        Waits.until("it waits", () -> handlers.parkedRequests() == 1);
        registration.remove();
        late.join().close();
        assertServed();
        assertThat(handlers.parkedRequests()).isZero();
    }

    @Test
    void waitsWhilePoliciesMayStillCome() {
        policies.expectMore(true);
        CompletableFuture<Response> call = caller.callAsync(echo());
        Waits.until("it waits", () -> handlers.parkedRequests() == 1);
        policies.add(GUARD, DENY);
        policies.expectMore(false);
        assertThatThrownBy(call::join).isInstanceOf(CompletionException.class).hasMessageContaining("not on the list");
        assertThat(ran.get()).isZero();
    }

    @Test
    void swappingUnderLoadOpensNoGap() {
        AccessPolicies.Registration registration = policies.add(GUARD, DENY);
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int swap = 0; swap < 200; swap++) {
            call(calls, 20);
            registration.withdraw();
            call(calls, 20);
            registration = policies.add(new Provider(GUARD.name(), "1." + swap + ".0"), DENY);
        }
        for (CompletableFuture<Response> each : calls) {
            assertThatThrownBy(each::join)
                    .cause()
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ACCESS_DENIED));
        }
        assertThat(ran.get()).isZero();
    }

    @Test
    void swappingUnderLoadFailsNothingThatIsAllowed() throws IOException {
        HandlerRegistry patient = workers.registry();
        workers.handle(patient, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.join("patient", patient);
        AccessPolicies.Registration registration = patient.policies().add(GUARD, ALLOW);
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int swap = 0; swap < 200; swap++) {
            call(calls, "patient", 20);
            registration.withdraw();
            call(calls, "patient", 20);
            registration = patient.policies().add(GUARD, ALLOW);
        }
        calls.forEach(each -> each.join().close());
        assertThat(patient.parkedRequests()).isZero();
        // a request is counted after its response was sent
        Waits.until(
                () -> calls.size() + " requests were served, and counted are "
                        + patient.statuses().get(0).done(),
                () -> patient.statuses().get(0).done() == calls.size());
    }

    private void call(List<CompletableFuture<Response>> calls, int count) {
        call(calls, "server", count);
    }

    private void call(List<CompletableFuture<Response>> calls, String to, int count) {
        for (int i = 0; i < count; i++) {
            calls.add(caller.callAsync(Request.operation(to, "text.echo").timeout(Duration.ofSeconds(20))));
        }
    }
}
