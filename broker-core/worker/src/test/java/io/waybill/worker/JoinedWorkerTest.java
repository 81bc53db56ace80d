package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that another worker joins in the name of a process. */
@Timeout(300)
class JoinedWorkerTest {

    @TempDir
    Path directory;

    private Workers workers;
    private HandlerRegistry gatewayRegistry;
    private Worker gateway;

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
        gatewayRegistry = workers.registry();
        gateway = workers.join("gateway", gatewayRegistry);
    }

    @AfterEach
    void close() throws Exception {
        workers.close();
    }

    private JoinedWorker join(String name) {
        return gateway.broker()
                .join(
                        name,
                        OptionalInt.empty(),
                        List.of("text.*"),
                        (message, outbox) -> outbox.response().text("by", name + " for " + message.operation()));
    }

    @Test
    void hasAnIdOfItsOwnAndCallsAndServesUnderIt() throws Exception {
        try (JoinedWorker one = join("one");
                JoinedWorker two = join("two")) {
            Broker broker = one.broker();
            assertThat(broker.self().worker().name()).isEqualTo("one");
            assertThat(List.of(one, two))
                    .extracting(each -> each.broker().self().worker().id())
                    .doesNotHaveDuplicates()
                    .doesNotContain(gateway.info().id());
            assertThat(broker.directory())
                    .hasValueSatisfying(path -> assertThat(path).isDirectory());
            try (Response response = broker.caller().call(Request.operation("two", "text.count"))) {
                assertThat(response.text("by")).isEqualTo("two for text.count");
                assertThat(response.from())
                        .isEqualTo(two.broker().self().worker().id());
            }
            try (Response response = gateway.call(Request.operation("one", "text.count"))) {
                assertThat(response.text("by")).isEqualTo("one for text.count");
            }
        }
    }

    @Test
    void refusesANameThatALiveWorkerHas() {
        try (JoinedWorker one = join("one")) {
            CallException refused = catchThrowableOfType(CallException.class, () -> join("one"));
            assertThat(refused.code()).isEqualTo(ErrorCode.REFUSED);
            assertThat(refused).hasMessageContaining("one");
            assertThat(one.broker().self().epoch()).isEqualTo(1);
        }
        try (JoinedWorker again = join("one")) {
            assertThat(again.broker().self().epoch()).isEqualTo(2);
        }
    }

    @Test
    void failsWhatIsInFlightWhenItLeaves() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        JoinedWorker one = gateway.broker()
                .join("one", OptionalInt.empty(), List.of("text.count"), (message, outbox) -> {
                    LateResponse never = outbox.later();
                    assertThat(never).isNotNull();
                    begun.countDown();
                });
        CompletableFuture<Response> call = gateway.callAsync(Request.operation("one", "text.count"));
        assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
        one.abandon();
        one.abandon();
        assertThatThrownBy(() -> call.get(60, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, failed -> assertThat(failed.code()).isEqualTo(ErrorCode.WORKER_LOST));
        assertThatThrownBy(() -> one.broker().self()).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void completesWhatIsInFlightWhenItLeavesInOrder() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch hold = new CountDownLatch(1);
        Worker patient = workers.join(
                "patient",
                workers.registry(),
                Workers.SETTINGS.toBuilder().drainLimit(Duration.ofSeconds(60)).build());
        JoinedWorker one = patient.broker()
                .join("one", OptionalInt.empty(), List.of("text.count"), (message, outbox) -> {
                    begun.countDown();
                    Waits.until("it may respond", () -> hold.getCount() == 0);
                    outbox.respond(Value.of("late"));
                });
        CompletableFuture<Response> call = gateway.callAsync(Request.operation("one", "text.count"));
        assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(one::close);
        hold.countDown();
        try (Response response = call.get(60, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("late"));
        }
        closing.get(60, TimeUnit.SECONDS);
    }

    @Test
    void asksThePoliciesOfTheWorkerThatJoinedIt() throws Exception {
        gatewayRegistry
                .policies()
                .add(
                        new Provider("org.acme.policy", "1.0.0"),
                        request -> request.operation().equals("text.secret")
                                ? Decision.deny("it is secret")
                                : Decision.allow());
        Worker caller = workers.join("caller");
        try (JoinedWorker one = join("one")) {
            assertThat(one).isNotNull();
            caller.call(Request.operation("one", "text.count")).close();
            CallException refused = catchThrowableOfType(
                    CallException.class, () -> caller.call(Request.operation("one", "text.secret")));
            assertThat(refused).as("the policy of the gateway refuses it").isNotNull();
            assertThat(refused.code()).isEqualTo(ErrorCode.ACCESS_DENIED);
            assertThat(refused).hasMessageContaining("org.acme.policy").hasMessageContaining("it is secret");
        }
    }

    @Test
    void leavesWithTheBrokerThatJoinedIt() throws Exception {
        JoinedWorker one = join("one");
        Incarnation self = one.broker().self();
        Worker other = workers.join("other");
        Waits.until("the others see it", () -> other.broker().peers().contains(self));
        gateway.close();
        Waits.until("the others see that it left", () -> !other.broker().peers().contains(self));
        assertThatThrownBy(() -> join("late")).isInstanceOf(IllegalStateException.class);
    }
}
