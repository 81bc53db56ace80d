package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Access policies that do not return from a message inside another one. */
@Timeout(180)
class InnerPolicyTest {

    private static final int KIND = 0x50;
    private static final Provider POLICY = new Provider("org.acme.policy", "1");

    @TempDir
    private Path directory;

    private final CountDownLatch released = new CountDownLatch(1);
    private final AtomicInteger inside = new AtomicInteger(); // threads in a policy that hangs
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.inner", (message, outbox) -> outbox.respond(Value.of("inner")));
        Wrapping.add(caller, "text.*", KIND, 0);
    }

    @AfterEach
    void leave() throws IOException {
        released.countDown();
        workers.close();
    }

    /** Hangs on the message inside, and ignores interrupts. */
    private final AccessPolicy stubborn = request -> {
        if (request.operation().equals("text.inner")) {
            inside.incrementAndGet();
            while (released.getCount() > 0) {
                try {
                    released.await();
                } catch (InterruptedException e) {
                    // planted
                }
            }
        }
        return Decision.allow();
    };

    private static Request request() {
        return Request.operation("server", "text.inner").timeout(Duration.ofSeconds(60));
    }

    private ErrorCode failure() {
        try {
            caller.call(request()).close();
            return null;
        } catch (CallException e) {
            return e.code();
        }
    }

    private boolean isCharged() {
        return handlers.errors().of(POLICY.name()) > 0;
    }

    private long inFlight() {
        return handlers.statuses().stream().mapToLong(HandlerStatus::inFlight).sum();
    }

    @Test
    void holdsOneThreadAndNoOtherCall() {
        workers.handleOneByOne(handlers, "0x150", Wrapping.BLOCKING);
        AccessPolicies.Registration policy = handlers.policies().add(POLICY, stubborn);
        CompletableFuture<Response> held = caller.callAsync(request());
        Waits.until("the policy is charged", this::isCharged);
        assertThat(failure()).as("while it does not return").isEqualTo(ErrorCode.ACCESS_DENIED);
        policy.remove();
        assertThat(failure())
                .as("without it, by a handler whose one thread it holds")
                .isNull();
        assertThat(held).isNotDone();
        released.countDown();
        assertThat(held.handle((response, failure) -> failure).join())
                .hasMessageContaining("did not decide within 100 ms");
        assertThat(inside).hasValue(1);
        Waits.until("nothing is in flight", () -> inFlight() == 0);
        assertThat(failure()).isNull();
    }

    @Test
    void isInterruptedAndTheHandlerIsNot() {
        List<String> seen = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x150", (message, outbox) -> {
            try {
                Wrapping.BLOCKING.handle(message, outbox);
            } catch (CallException e) {
                seen.add(e.code() + (Thread.currentThread().isInterrupted() ? " interrupted" : ""));
                throw e;
            }
        });
        handlers.policies().add(POLICY, request -> {
            if (request.operation().equals("text.inner")) {
                try {
                    released.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return Decision.allow();
        });
        assertThat(failure()).isEqualTo(ErrorCode.ACCESS_DENIED);
        assertThat(seen).containsExactly("ACCESS_DENIED");
        Waits.until("nothing is in flight", () -> inFlight() == 0);
    }

    @Test
    void doesNotHoldTheHousekeeperWhenAMessageWaitedForIt() throws InterruptedException {
        CountDownLatch away = new CountDownLatch(1);
        CountDownLatch dispatched = new CountDownLatch(1);
        workers.handle(handlers, "0x150", (message, outbox) -> {
            try {
                away.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            Wrapping.ASYNC.handle(message, outbox);
            dispatched.countDown();
        });
        AccessPolicies.Registration policy = handlers.policies().add(POLICY, request -> Decision.allow());
        CompletableFuture<Response> waiting = caller.callAsync(request());
        Waits.until("the outer handler runs", () -> inFlight() == 1);
        policy.withdraw();
        away.countDown();
        dispatched.await();
        handlers.policies().add(POLICY, stubborn);
        Waits.until("the policy is charged, by the housekeeper", this::isCharged);
        assertThat(failure()).isEqualTo(ErrorCode.ACCESS_DENIED);
        assertThat(waiting).isNotDone();
        released.countDown();
        assertThat(waiting.handle((response, failure) -> failure).join()).hasMessageContaining("did not decide");
        Waits.until("nothing is in flight", () -> inFlight() == 0);
        assertThat(failure()).isNull();
    }
}
