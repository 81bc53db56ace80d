package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CULPRIT;
import static io.waybill.foreign.ForeignNode.REFUSED;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Interceptors that misbehave. */
@Timeout(120)
class InterceptorRowsTest {

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
        node.workers.handle(node.handlers, CALL, ForeignNode::echo);
        node.workers.handle(node.handlers, REFUSED, (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "as it should");
        });
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> rows() {
        return Stream.concat(Row.of(CallInterceptor.class), Row.of(HandlerInterceptor.class));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void costsItsOwnCallOnly(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        boolean onCalls = row.on() == CallInterceptor.class;
        HandlerRegistry charged = onCalls ? node.callerHandlers : node.handlers;
        long before = charged.errors().of(CULPRIT.name());
        Interceptors.Registration registration = onCalls
                ? node.caller.interceptors().calls().add(spec(new Calls(culprit)))
                : node.server.interceptors().handlers().add(spec(new Handlers(culprit)));
        String operation = List.of("onFailure", "onAttemptFailed").contains(row.method()) ? REFUSED : CALL;
        boolean isTheProgram = List.of("onRequest", "isInterceptingCalls").contains(row.method());
        long left;
        try {
            node.run(row, culprit, operation, new ForeignNode.Outcomes(), isTheProgram);
        } finally {
            left = registration.withdraw(Duration.ofSeconds(20)).stillRunning();
        }
        assertThat(left).as("%s: calls that an update would wait for", row).isZero();
        ForeignNode.isCharged(row, charged, before);
    }

    private static <T> InterceptorSpec<T> spec(T interceptor) {
        return new InterceptorSpec<>(
                List.of(HandlerKey.parse(CALL), HandlerKey.parse(REFUSED)), interceptor, CULPRIT, 0);
    }

    private record Calls(Culprit culprit) implements CallInterceptor {
        @Override
        public boolean isInterceptingCalls() {
            return culprit.in("isInterceptingCalls", true);
        }

        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
            culprit.in("onRequest", this, call);
        }

        @Override
        public void onResponse(IncomingResponse response) {
            culprit.in("onResponse", this, response);
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            culprit.in("onAttemptFailed", this, attempt);
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            culprit.in("onFailure", this, call);
        }
    }

    private record Handlers(Culprit culprit) implements HandlerInterceptor {
        @Override
        public boolean isInterceptingHandlers() {
            return culprit.in("isInterceptingHandlers", true);
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) {
            culprit.in("before", this, message, outbox);
        }

        @Override
        public void after(HandledMessage outcome) {
            culprit.in("after", this, outcome);
        }
    }
}
