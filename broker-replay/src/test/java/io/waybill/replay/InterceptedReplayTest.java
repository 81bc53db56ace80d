package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests whose handlers and nested calls had interceptors, handled again with and without them. */
@Timeout(120)
class InterceptedReplayTest {

    private static final byte MARK = 42;

    @TempDir
    private Path directory;

    /** Wraps calls of 0x143 in 0x142. */
    private static final class Wrapping implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {
            ByteBuffer inner = call.payload();
            call.wrap(
                    MessageType.userRequest(0x42),
                    ByteBuffer.allocate(inner.remaining() + 1)
                            .put(MARK)
                            .put(inner)
                            .flip());
        }

        @Override
        public void onResponse(IncomingResponse response) {
            ByteBuffer payload = response.response().payload();
            payload.get();
            response.unwrap(MessageType.of(0x243), payload);
        }
    }

    private static ReplayScenario scenario() {
        return new ReplayScenario()
                .handles("a", "text.outer", (message, outbox) -> {
                    Request inner = Request.raw(
                            "b", MessageType.userRequest(0x43), ByteBuffer.wrap(new byte[] {5, 6}), List.of());
                    try (Response response = outbox.caller().call(inner)) {
                        outbox.respond(Value.of(
                                response.type() + " " + response.payload().remaining()));
                    }
                })
                .handles("b", "0x142", (message, outbox) -> outbox.respond(message.payload()));
    }

    private static void callOuter(Worker caller) {
        try (Response response = caller.call(Request.operation("a", "text.outer"))) {
            assertThat(response.value()).isEqualTo(Value.of("USER_0X43_RET 2"));
        }
    }

    @Test
    void replaysAWrappedNestedCallWithItsInterceptorAlone() throws Exception {
        ReplayScenario wrapping = scenario().interceptsCalls("a", "0x143", new Wrapping());
        Path home = wrapping.record(directory, InterceptedReplayTest::callOuter);
        ReplayReport same = wrapping.replay(home).run();
        assertThat(same.calls()).isEqualTo(2);
        assertThat(same.isAllSame()).isTrue();

        List<String> reasons = new ArrayList<>();
        ReplayReport bare = scenario()
                .replay(home)
                .run(call -> call.results().stream()
                        .filter(result -> result.verdict() != Verdict.SAME)
                        .forEach(result -> reasons.add(result.reason())));
        assertThat(bare.isAllSame()).isFalse();
        assertThat(reasons).singleElement().asString().contains("USER_0X43_CALL", "was for USER_0X42_CALL");
    }

    private static ReplayScenario routing(String shard) {
        CallInterceptor router = new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                call.redirect(shard);
            }
        };
        return new ReplayScenario()
                .handles("a", "text.outer", (message, outbox) -> {
                    try (Response response = outbox.caller().call(Request.operation("shards", "text.shard"))) {
                        outbox.respond(response.value());
                    }
                })
                .handles("b", "text.shard", (message, outbox) -> outbox.respond(Value.of("b")))
                .handles("c", "text.shard", (message, outbox) -> outbox.respond(Value.of("c")))
                .interceptsCalls("a", "text.shard", router);
    }

    /** The handler names a worker that there is not. */
    @Test
    void redirectsNestedCallsAsWhenTheyWereRecorded() throws Exception {
        Path home = routing("b")
                .record(
                        directory,
                        caller -> caller.call(Request.operation("a", "text.outer"))
                                .close());
        ReplayReport same = routing("b").replay(home).run();
        assertThat(same.calls()).isEqualTo(2);
        assertThat(same.isAllSame()).isTrue();

        List<String> reasons = new ArrayList<>();
        routing("c").replay(home).run(call -> reasons.add(call.results().get(0).reason()));
        assertThat(reasons)
                .anySatisfy(reason -> assertThat(reason).contains("it asked worker 2 (c)", "went to worker 1 (b)"));
    }

    /** Refuses every second request, by a number that is on record. */
    private static final class Refusing implements HandlerInterceptor {
        @Override
        public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
            if (outbox.random().nextBoolean()) {
                throw new RejectedMessageException(ErrorCode.REFUSED, "not this one");
            }
        }

        @Override
        public void after(HandledMessage outcome) {
            outcome.payload();
        }
    }

    @Test
    void replaysWhatAnInterceptorDecidedByRecordedNumbers() throws Exception {
        ReplayScenario refusing = new ReplayScenario()
                .handles("b", "text.echo", (message, outbox) -> outbox.respond(Value.of("on")))
                .interceptsHandlers("b", "text.*", new Refusing());
        Path home = refusing.record(directory, caller -> {
            int refused = 0;
            for (int i = 0; i < 100; i++) {
                try {
                    caller.call(Request.operation("b", "text.echo")).close();
                } catch (CallException e) {
                    refused++;
                }
            }
            assertThat(refused).isBetween(10, 90);
        });
        ReplayReport report = refusing.replay(home).run();
        assertThat(report.calls()).isEqualTo(100);
        assertThat(report.isAllSame()).isTrue();
    }

    /** Repeats each call that fails. */
    private static final class Repeating implements CallInterceptor {
        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            attempt.repeat(Duration.ZERO);
        }
    }

    @Test
    void replaysEachAttemptOfARepeatedNestedCall() throws Exception {
        ReplayScenario repeating = new ReplayScenario()
                .handles("a", "text.outer", (message, outbox) -> {
                    Request inner = Request.operation("b", "text.flaky");
                    try (Response response = outbox.caller().call(inner.timeout(Duration.ofSeconds(60)))) {
                        outbox.respond(response.value());
                    }
                })
                .handles("b", "text.flaky", (message, outbox) -> {
                    if (outbox.random().nextInt(4) != 0) {
                        throw new RejectedMessageException(ErrorCode.REFUSED, "not yet");
                    }
                    outbox.respond(Value.of(outbox.random().nextInt()));
                })
                .interceptsCalls("a", "text.flaky", new Repeating());
        Path home = repeating.record(directory, caller -> {
            for (int i = 0; i < 20; i++) {
                caller.call(Request.operation("a", "text.outer")).close();
            }
        });
        ReplayReport report = repeating.replay(home).run();
        assertThat(report.calls()).isGreaterThan(40);
        assertThat(report.isAllSame()).isTrue();
    }
}
