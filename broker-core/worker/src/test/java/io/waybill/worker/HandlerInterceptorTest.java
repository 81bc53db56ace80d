package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.InterceptorStatus;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Interceptors around the handlers of a worker. */
@Timeout(300)
class HandlerInterceptorTest {

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.echo", (message, outbox) -> {
            seen.add("handler");
            outbox.respond(Value.of("on"));
        });
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> {
            seen.add("handler");
            outbox.respond(Value.of("on"));
        });
        workers.handle(handlers, "text.later", (message, outbox) -> {
            seen.add("handler");
            LateResponse late = outbox.later();
            new Thread(() -> late.send(Value.of("on"))).start();
        });
        workers.handle(handlers, "text.bad", (message, outbox) -> {
            seen.add("handler");
            throw new IllegalStateException("planted in the handler");
        });
        workers.handle(handlers, "text.none", (message, outbox) -> seen.add("handler"));
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Interceptors.Registration add(String name, int ranking, HandlerInterceptor interceptor) {
        return server.interceptors()
                .handlers()
                .add(new InterceptorSpec<>(
                        List.of(HandlerKey.parse("text.*")), interceptor, new Provider(name, "1.0.0"), ranking));
    }

    private static Request request(String operation) {
        return Request.operation("server", operation).timeout(Duration.ofSeconds(20));
    }

    /** Notes what it sees. */
    private class Noting implements HandlerInterceptor {
        private final String name;

        Noting(String name) {
            this.name = name;
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
            seen.add(name + " " + message.operation());
            message.attach(name);
        }

        @Override
        public void after(HandledMessage outcome) throws RejectedMessageException {
            seen.add(outcome.attachment() + " "
                    + outcome.error()
                            .map(ErrorCode::name)
                            .orElse(outcome.payload().remaining() + " bytes"));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "text.echo, 7 bytes",
        "text.now, 7 bytes",
        "text.later, 7 bytes",
        "text.bad, HANDLER_FAILED",
        "text.none, NO_RESPONSE"
    })
    void seesRequestAndOutcomeInTheOrderOfTheRanking(String operation, String outcome) {
        add("inner", 1, new Noting("inner"));
        add("outer", -1, new Noting("outer"));
        try {
            caller.call(request(operation)).close();
        } catch (CallException e) {
            assertThat(e.code().name()).isEqualTo(outcome);
        }
        assertThat(seen)
                .containsExactly(
                        "outer " + operation, "inner " + operation, "handler", "inner " + outcome, "outer " + outcome);
        nothingIsInFlight();
    }

    @Test
    void respondsInPlaceOfTheHandler() {
        add("inner", 1, new Noting("inner"));
        add("cache", 0, (message, outbox) -> outbox.respond(Value.of("cached")));
        add("outer", -1, new Noting("outer"));
        assertThat(caller.call(request("text.echo")).value()).isEqualTo(Value.of("cached"));
        assertThat(seen).hasSize(2).allMatch(each -> each.startsWith("outer"));
        nothingIsInFlight();
    }

    @ParameterizedTest
    @CsvSource({"text.echo, true", "text.echo, false", "text.now, true", "text.later, false", "text.now, false"})
    void refusesWithItsOwnCode(String operation, boolean before) {
        add("outer", -1, new Noting("outer"));
        add("refusing", 0, new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
                refuseIf(before);
            }

            @Override
            public void after(HandledMessage outcome) throws RejectedMessageException {
                refuseIf(!before);
            }
        });
        assertThatThrownBy(() -> caller.call(request(operation)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.REFUSED))
                .hasMessage("not today");
        assertThat(seen).contains("outer REFUSED");
        assertThat(seen.contains("handler")).isEqualTo(!before);
        nothingIsInFlight();
    }

    private static void refuseIf(boolean refused) throws RejectedMessageException {
        if (refused) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        }
    }

    @ParameterizedTest
    @CsvSource({"text.echo, true", "text.echo, false", "text.now, true", "text.later, false", "text.now, false"})
    void failsItsRequestAloneWhenItThrows(String operation, boolean before) {
        Interceptors.Registration bad = add("misbehaving", 0, new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {
                throwIf(before);
            }

            @Override
            public void after(HandledMessage outcome) {
                throwIf(!before);
            }
        });
        assertThatThrownBy(() -> caller.call(request(operation)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_FAILED))
                .hasMessageContaining("misbehaving 1.0.0");
        assertThat(bad.status().failed()).isEqualTo(1);
        nothingIsInFlight();
        assertThat(bad.withdraw(Duration.ofSeconds(20)).isComplete()).isTrue();
        assertThat(caller.call(request(operation)).value()).isEqualTo(Value.of("on"));
    }

    private static void throwIf(boolean thrown) {
        if (thrown) {
            throw new StackOverflowError("planted");
        }
    }

    private void nothingIsInFlight() {
        Waits.until(
                "no request is in flight",
                () -> handlers.statuses().stream()
                                .mapToLong(HandlerStatus::inFlight)
                                .sum()
                        == 0);
        Waits.until(
                "no interceptor has a request in flight",
                () -> server.interceptors().handlers().statuses().stream()
                                .mapToLong(InterceptorStatus::inFlight)
                                .sum()
                        == 0);
    }
}
