package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A program that waits for the outcomes of its calls before it ends. */
@Timeout(120)
class CallDrainTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private Worker client;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handle(handlers, "text.refused", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
        });
        workers.join("server", handlers);
        client = workers.join("client");
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    /** Keeps the thread that delivers the outcome. */
    private final class Held implements ResponseListener {

        @Override
        public void onResponse(Response response) {
            entered.countDown();
            await(hold);
        }

        @Override
        public void onFailure(CallException failure) {
            onResponse(null);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(LONG.toSeconds(), TimeUnit.SECONDS))
                    .as("the test goes on")
                    .isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Request to(String operation) {
        return Request.operation("server", operation).timeout(LONG);
    }

    private void hasOneOpen(String why) {
        assertThat(client.drain(Duration.ZERO)).as(why).isEqualTo(1);
    }

    private void hasNoneOpen() {
        assertThat(client.drain(LONG)).isZero();
    }

    @Test
    void waitsForAListenerThatSeesAResponse() {
        client.call(to("text.echo"), new Held());
        await(entered);
        hasOneOpen("a listener has not returned");
        hold.countDown();
        hasNoneOpen();
    }

    @Test
    void waitsForAListenerThatSeesAFailure() {
        client.call(to("text.refused"), new Held());
        await(entered);
        hasOneOpen("a listener has not returned");
        hold.countDown();
        hasNoneOpen();
    }

    @Test
    void waitsForAListenerThatTakesLong() {
        client.call(to("text.echo"), new Held());
        await(entered);
        client.call(to("text.echo")).close(); // delivered by another thread, because the first one may not return
        hasOneOpen("a listener that lost the permit to poll has not returned");
        hold.countDown();
        hasNoneOpen();
    }

    @Test
    void waitsForCallsThatAreRepeatedLater() {
        client.interceptors()
                .calls()
                .add(InterceptorSpec.ofAll(
                        new CallInterceptor() {
                            @Override
                            public void onRequest(OutgoingCall call) {
                                call.keep();
                            }

                            @Override
                            public void onAttemptFailed(FailedAttempt attempt) {
                                attempt.repeat(Duration.ofSeconds(30));
                                entered.countDown();
                            }
                        },
                        new Provider("repeating", "1.0.0")));
        client.callAsync(to("text.refused"));
        await(entered);
        hasOneOpen("a call is between two attempts");
    }

    @Test
    void endsWithItsWorker() throws IOException {
        client.callAsync(to("text.echo")).join().close();
        client.close();
        hasNoneOpen();
    }

    @Test
    void isRefusedWhereItWouldWaitForItself() {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        client.call(to("text.echo"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                try {
                    thrown.complete(new AssertionError("a listener waited: " + client.drain(LONG)));
                } catch (Throwable e) {
                    thrown.complete(e);
                }
            }

            @Override
            public void onFailure(CallException failure) {
                thrown.complete(failure);
            }
        });
        assertThat(thrown.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("must not wait");
    }
}
