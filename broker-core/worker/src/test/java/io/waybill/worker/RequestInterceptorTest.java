package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Interceptors that have no method for the outcome of a call: they take no further part in it. */
@Timeout(300)
class RequestInterceptorTest {

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger asked = new AtomicInteger();
    private Workers workers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.slow", (message, outbox) -> {
            await();
            outbox.respond(Value.of("slow"));
        });
        workers.handle(handlers, "0x142", (message, outbox) -> {
            await();
            outbox.respond(message.payload());
        });
    }

    private void await() {
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

    private Interceptors.Registration add(CallInterceptor interceptor) {
        return caller.interceptors()
                .calls()
                .add(InterceptorSpec.ofAll(interceptor, new Provider("org.acme.only", "1.0.0")));
    }

    @Test
    void doNotKeepTheirBundleUntilTheResponseComes() {
        Interceptors.Registration only = add(call -> asked.incrementAndGet());
        CompletableFuture<Response> slow = caller.callAsync(Request.operation("server", "text.slow"));
        assertThat(only.status().inFlight()).isZero();
        assertThat(only.status().begun()).isOne();
        assertThat(only.withdraw(Duration.ZERO)).isEqualTo(Drained.DRAINED);
        hold.countDown();
        try (Response response = slow.join()) {
            assertThat(response.value()).isEqualTo(Value.of("slow"));
        }
        assertThat(asked).hasValue(1);
    }

    @Test
    void doSoIfTheyWrappedTheCall() {
        MessageType envelope = MessageType.userRequest(0x42);
        Interceptors.Registration wrapping = add(call -> call.wrap(envelope, call.payload()));
        CompletableFuture<Response> slow = caller.callAsync(Request.operation("server", "text.slow"));
        assertThat(wrapping.status().inFlight()).isOne();
        assertThat(wrapping.withdraw(Duration.ZERO)).isEqualTo(Drained.timedOut(1));
        hold.countDown();
        assertThatThrownBy(slow::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_GONE));
        Waits.until("nothing is in flight", () -> wrapping.status().inFlight() == 0);
    }

    @Test
    void aRequestThatIsNotSentLeavesNothingInFlight() {
        Interceptors.Registration only = add(call -> asked.incrementAndGet());
        assertThatThrownBy(() ->
                        caller.call(Request.operation("nobody", "text.slow").timeout(Duration.ofMillis(50))))
                .isInstanceOf(CallException.class);
        assertThat(asked).hasValue(1);
        assertThat(only.status().inFlight()).isZero();
    }
}
