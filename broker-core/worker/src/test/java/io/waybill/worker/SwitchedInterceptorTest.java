package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Interceptors that say whether they take part in calls, by a switch. */
@Timeout(120)
class SwitchedInterceptorTest {

    private static final int MAX_SEEN = 5;

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private Worker server;
    private Worker caller;
    private volatile boolean on;
    private volatile Runnable handler = () -> {};

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        server = workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.echo", (message, outbox) -> {
            handler.run();
            outbox.respond(Value.of("on"));
        });
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> {
            handler.run();
            outbox.respond(Value.of("on"));
        });
        workers.handle(handlers, "text.later", (message, outbox) -> {
            LateResponse late = outbox.later();
            handler.run();
            new Thread(() -> late.send(Value.of("on"))).start();
        });
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private void call(String operation) {
        Request request = Request.operation("server", operation).timeout(Duration.ofSeconds(20));
        try (Response response = caller.call(request)) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
    }

    private static <T> InterceptorSpec<T> spec(T interceptor, String name) {
        return InterceptorSpec.ofAll(interceptor, new Provider(name, "1.0.0"));
    }

    private final class Calls implements CallInterceptor {
        private final BooleanSupplier asked;

        Calls(BooleanSupplier asked) {
            this.asked = asked;
        }

        @Override
        public boolean isInterceptingCalls() {
            return asked.getAsBoolean();
        }

        @Override
        public void onRequest(OutgoingCall call) {
            seen.add("request");
        }

        @Override
        public void onResponse(IncomingResponse response) {
            seen.add("response");
        }
    }

    private final class Handlers implements HandlerInterceptor {
        @Override
        public boolean isInterceptingHandlers() {
            return on;
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) {
            seen.add("before");
        }

        @Override
        public void after(HandledMessage outcome) {
            seen.add("after");
        }
    }

    @Test
    void aCallPassesThoseThatTakeNoPartInIt() {
        Interceptors.Registration calls = caller.interceptors().calls().add(spec(new Calls(() -> on), "calls"));
        handler = () -> on = true; // too late for this call, and in time for the next one
        call("text.echo");
        assertThat(seen).isEmpty();
        assertThat(calls.status().inFlight()).isZero();
        handler = () -> on = false;
        call("text.echo");
        assertThat(seen).containsExactly("request", "response");
        call("text.echo");
        assertThat(seen).hasSize(2);
        assertThat(calls.status().inFlight()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"text.echo", "text.now", "text.later"})
    void aHandlerRunsWithoutThoseThatTakeNoPartInItsRequest(String operation) {
        Interceptors.Registration handlers = server.interceptors().handlers().add(spec(new Handlers(), "handlers"));
        handler = () -> on = true; // too late for this request, and in time for the next one
        call(operation);
        assertThat(seen).isEmpty();
        handler = () -> on = false;
        call(operation);
        assertThat(seen).containsExactly("before", "after");
        call(operation);
        assertThat(seen).hasSize(2);
        assertThat(handlers.status().inFlight()).isZero();
    }

    @Test
    void oneThatTakesPartBringsTheOthers() {
        caller.interceptors().calls().add(spec(new Calls(() -> on), "calls"));
        caller.interceptors().calls().add(spec(call -> seen.add("always"), "always"));
        server.interceptors().handlers().add(spec(new Handlers(), "handlers"));
        server.interceptors().handlers().add(spec((message, outbox) -> seen.add("always"), "always"));
        call("text.echo");
        assertThat(seen).containsExactlyInAnyOrder("request", "always", "before", "always", "after", "response");
    }

    @Test
    void aCallThatOneMakesWhenItIsAskedPassesAll() {
        BooleanSupplier calling = () -> {
            seen.add("asked");
            if (seen.size() < MAX_SEEN) { // or it would not end
                call("text.echo");
            }
            return true;
        };
        caller.interceptors().calls().add(spec(new Calls(calling), "calls"));
        call("text.echo");
        assertThat(seen).containsExactly("asked", "request", "response");
    }

    @Test
    void oneThatThrowsWhenItIsAskedTakesPart() {
        BooleanSupplier throwing = () -> {
            throw new IllegalStateException("planted");
        };
        caller.interceptors().calls().add(spec(new Calls(throwing), "calls"));
        call("text.echo");
        assertThat(seen).as("what could be left out by an error").containsExactly("request", "response");
    }
}
