package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What interceptors see of the context of a call, and what they add to it. */
@Timeout(60)
class ContextInterceptorTest {

    private static final CallContext PROGRAMS = CallContext.EMPTY.with("k", "program");

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final AtomicInteger failing = new AtomicInteger();
    private Workers workers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "text.seen", (message, outbox) -> {
            seen.add("handler " + k());
            if (failing.getAndDecrement() > 0) {
                throw new RejectedMessageException(ErrorCode.BACK_PRESSURE, "not now");
            }
            outbox.respond(Value.of(k()));
        });
        workers.handle(handlers, "text.late", (message, outbox) -> {
            LateResponse late = outbox.later();
            new Thread(() -> late.send(Value.of("late"))).start();
        });
        server = workers.join("server", handlers);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static String k() {
        return CallContext.current().text("k").orElse("none");
    }

    private static String k(CallContext context) {
        return context.text("k").orElse("none");
    }

    private static Request request(String operation) {
        return Request.operation("server", operation).timeout(Duration.ofSeconds(30));
    }

    private void add(int ranking, CallInterceptor interceptor) {
        caller.interceptors()
                .calls()
                .add(new InterceptorSpec<>(
                        InterceptorSpec.ofAll(interceptor, new Provider("test", "1"))
                                .keys(),
                        interceptor,
                        new Provider("test-" + ranking, "1"),
                        ranking));
    }

    /** Adds its name to the value, and notes what it sees. */
    private final class Adding implements CallInterceptor {
        private final String name;

        Adding(String name) {
            this.name = name;
        }

        private void note(String method, InterceptedCall call) {
            seen.add(name + "." + method + " " + k() + " " + k(call.context()));
        }

        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
            note("onRequest", call);
            call.context(call.context().with("k", k(call.context()) + "+" + name));
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            note("onAttemptFailed", attempt);
            attempt.repeat(Duration.ofMillis(1));
        }

        @Override
        public void onResponse(IncomingResponse response) {
            note("onResponse", response);
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            note("onFailure", call);
        }
    }

    @Test
    void addToTheCallAndNotToTheProgram() throws Exception {
        add(2, new Adding("a"));
        add(1, new Adding("b"));
        CompletableFuture<String> stage = new CompletableFuture<>();
        PROGRAMS.run(
                () -> caller.callAsync(request("text.seen")).whenComplete((response, failure) -> stage.complete(k())));
        assertThat(stage.get(30, TimeUnit.SECONDS)).isEqualTo("program");
        assertThat(seen)
                .containsExactly(
                        "a.onRequest program program",
                        "b.onRequest program program+a",
                        "handler program+a+b",
                        "b.onResponse program+a+b program+a+b",
                        "a.onResponse program+a+b program+a+b");
    }

    @Test
    void repeatWithTheSameContext() throws Exception {
        add(0, new Adding("a"));
        failing.set(2);
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<Response> call = PROGRAMS.supply(() -> caller.callAsync(request("text.seen")));
        try (Response response =
                call.whenComplete((given, failure) -> stage.complete(k())).get(30, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("program+a"));
        }
        assertThat(stage.get(30, TimeUnit.SECONDS)).isEqualTo("program");
        assertThat(seen)
                .containsExactly(
                        "a.onRequest program program",
                        "handler program+a",
                        "a.onAttemptFailed program+a program+a",
                        "handler program+a",
                        "a.onAttemptFailed program+a program+a",
                        "handler program+a",
                        "a.onResponse program+a program+a");
        assertThat(RecordedContexts.of(caller))
                .hasSize(3)
                .allMatch(each -> k(each.context()).equals("program+a"));
    }

    @Test
    void seeTheContextOfAFailure() {
        add(0, new Adding("a"));
        PROGRAMS.run(() -> {
            assertThatThrownBy(() -> caller.call(request("text.none"))).isInstanceOf(CallException.class);
            assertThatThrownBy(() -> caller.call(
                            Request.operation("nowhere", "text.seen").timeout(Duration.ofMillis(5))))
                    .isInstanceOf(CallException.class);
            assertThat(k()).isEqualTo("program");
        });
        assertThat(seen)
                .filteredOn(each -> each.startsWith("a.onFailure"))
                .isNotEmpty()
                .allMatch("a.onFailure program+a program+a"::equals);
    }

    @Test
    void refuseContextsOutsideOfOnRequest() {
        add(0, new CallInterceptor() {
            private OutgoingCall kept;

            @Override
            public void onRequest(OutgoingCall call) {
                kept = call;
            }

            @Override
            public void onResponse(IncomingResponse response) {
                try {
                    kept.context(CallContext.EMPTY);
                } catch (IllegalStateException e) {
                    seen.add("refused");
                }
            }
        });
        PROGRAMS.run(() -> caller.call(request("text.seen")).close());
        assertThat(seen).containsExactly("handler program", "refused");
    }

    @Test
    void ofHandlersSeeTheRequestsAndMaySpanTheHandler() {
        HandlerInterceptor spanning = new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {
                seen.add("before " + k());
                message.attach(CallContext.current().with("k", "span").makeCurrent());
            }

            @Override
            public void after(HandledMessage outcome) {
                seen.add("after " + k());
                try {
                    ((ContextScope) outcome.attachment()).close();
                } catch (IllegalStateException e) {
                    seen.add("on another thread");
                }
                seen.add("then " + k());
            }
        };
        server.interceptors().handlers().add(InterceptorSpec.ofAll(spanning, new Provider("test", "1")));
        PROGRAMS.run(() -> caller.call(request("text.seen")).close());
        assertThat(seen).containsExactly("before program", "handler span", "after span", "then program");
        seen.clear();
        PROGRAMS.run(() -> caller.call(request("text.late")).close());
        // the response may come before its handler returned, and on its thread then
        assertThat(List.copyOf(seen)).startsWith("before program").endsWith("then program");
    }
}
