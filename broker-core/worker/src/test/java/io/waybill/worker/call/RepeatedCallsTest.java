package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.Provider;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls between two attempts: when they are repeated, and what ends them before. */
@Timeout(60)
class RepeatedCallsTest {

    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration TIMEOUT = Duration.ofHours(10);
    private static final ResponseReceiver.CallFailure CLOSED =
            id -> CallErrors.refused(ErrorCode.CLOSED, "the worker is closed");

    @TempDir
    private Path directory;

    private final List<String> outcomes = new ArrayList<>();
    private final List<String> attempts = new ArrayList<>(); // operations of those that have failed
    private Consumer<FailedAttempt> decision = attempt -> {};
    private AssertionError inside; // while an interceptor decided; null for none
    private PublishingRoom room;
    private Calls calls;
    private RepeatedCalls repeated;
    private OutcomeDelivery delivery;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        PollContext polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        Poller poller = new Poller(polling);
        InterceptorRegistry interceptors = new InterceptorRegistry(room.host);
        NotedOutcomes noted = new NotedOutcomes(room.directory.path(), room.host);
        CallParts calling = new CallParts(
                new CallParts.Context(
                        room.host,
                        room.context,
                        polling,
                        poller,
                        new WaitingCallers(polling, poller),
                        room.links,
                        interceptors.calls()),
                new CallParts.Settings(
                        new CallSettings(
                                TIMEOUT, FlowLimits.defaults(), PublishingRoom.JOURNAL.maxRecordBytes(), false),
                        Duration.ZERO,
                        InjectionSettings.NONE,
                        1),
                room.requests,
                noted);
        calls = calling.calls;
        repeated = calling.repeated;
        delivery = new OutcomeDelivery(polling.permit(), room.context.reports(), room.counters, noted);
        interceptors.calls().add(InterceptorSpec.ofAll(new Keeping(), new Provider("repeating", "1.0.0")));
    }

    @AfterEach
    void close() throws IOException {
        room.close();
        assertThat(inside).as("what was wrong while an interceptor decided").isNull();
    }

    private final class Keeping implements CallInterceptor {

        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            attempts.add(attempt.failure().code() + " " + attempt.number());
            try {
                decision.accept(attempt);
            } catch (AssertionError e) { // which is no more than a failure of the interceptor otherwise
                inside = e;
            }
        }
    }

    /** Calls a worker that does not exist, and may come. */
    private void call(String name) {
        calls.call(Request.operation("nobody", "text.echo").timeout(TIMEOUT), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                outcomes.add(name + " response");
            }

            @Override
            public void onFailure(CallException failure) {
                outcomes.add(name + " " + failure.code());
            }
        });
    }

    private long run(long nowNs) {
        return repeated.run(nowNs, delivery);
    }

    private long nowNs() {
        return room.host.clock().bootNs();
    }

    private void waiting(String when, int expected) {
        assertThat(repeated.size()).as("calls between two attempts %s", when).isEqualTo(expected);
    }

    @Test
    void aCallIsRepeatedWhenItsDelayHasPassed() {
        long beforeNs = nowNs();
        decision = attempt -> attempt.repeat(HOUR);
        call("a");
        waiting("after the first attempt", 1);
        long dueNs = run(nowNs());
        assertThat(dueNs)
                .as("the time at which it is due")
                .isBetween(beforeNs + HOUR.toNanos(), nowNs() + HOUR.toNanos());
        assertThat(run(dueNs - 1))
                .as("the time at which it is due, a moment before")
                .isEqualTo(dueNs);
        assertThat(attempts).as("attempts before its delay has passed").hasSize(1);
        decision = attempt -> {};
        assertThat(run(dueNs)).as("the time at which the next one is due").isZero();
        assertThat(attempts).as("attempts").containsExactly("UNKNOWN_WORKER 1", "UNKNOWN_WORKER 2");
        waiting("in the end", 0);
        assertThat(outcomes).as("outcomes").containsExactly("a UNKNOWN_WORKER");
    }

    @Test
    void callsAreRepeatedInTheOrderOfTheirTimes() {
        long beforeNs = nowNs();
        decision = attempt -> attempt.repeat(HOUR.multipliedBy(3));
        call("late");
        decision = attempt -> attempt.repeat(HOUR);
        call("early");
        waiting("after the first attempts", 2);
        decision = attempt -> {};
        long dueNs = run(beforeNs + HOUR.multipliedBy(2).toNanos());
        assertThat(outcomes).as("outcomes after two hours").containsExactly("early UNKNOWN_WORKER");
        assertThat(dueNs)
                .as("the time at which the other one is due")
                .isGreaterThanOrEqualTo(beforeNs + HOUR.multipliedBy(3).toNanos());
        run(dueNs);
        assertThat(outcomes).as("outcomes").containsExactly("early UNKNOWN_WORKER", "late UNKNOWN_WORKER");
    }

    @Test
    void aCallThatIsNotRepeatedFailsAtOnce() {
        CallException failure = catchThrowableOfType(CallException.class, () -> call("a"));
        assertThat(failure).as("the failure of the call").isNotNull();
        assertThat(failure.code()).as("its code").isEqualTo(ErrorCode.UNKNOWN_WORKER);
        waiting("afterwards", 0);
        assertThat(outcomes).as("outcomes beside the exception").isEmpty();
    }

    /** An interceptor that hangs is no reason to wait any longer. */
    @Test
    void aCallEndsAtItsDeadlineWhileItsInterceptorsDecide() {
        decision = attempt -> {
            waiting("while they decide", 1);
            assertThat(run(nowNs())).as("the time until which they may").isGreaterThan(nowNs());
            assertThat(outcomes).as("outcomes before the deadline").isEmpty();
            run(nowNs() + TIMEOUT.toNanos());
            assertThat(outcomes).as("outcomes at the deadline").containsExactly("a TIMED_OUT");
            attempt.repeat(HOUR);
        };
        call("a");
        waiting("after they decided too late", 0);
        assertThat(outcomes).as("outcomes").containsExactly("a TIMED_OUT");
    }

    @Test
    void allCallsFailAtTheEndAndNoMoreAreTaken() {
        decision = attempt -> attempt.repeat(HOUR);
        call("first");
        call("second");
        repeated.close(delivery, CLOSED);
        assertThat(outcomes).as("outcomes").containsExactlyInAnyOrder("first CLOSED", "second CLOSED");
        waiting("after the end", 0);
        repeated.close(delivery, CLOSED);
        assertThat(catchThrowableOfType(CallException.class, () -> call("third")))
                .as("the failure of a call after the end")
                .isNotNull();
        assertThat(attempts).as("attempts about which interceptors were asked").hasSize(2);
        waiting("after another call", 0);
        assertThat(outcomes).as("outcomes").hasSize(2);
    }

    @Test
    void aCallFailsAtTheEndWhileItsInterceptorsDecide() {
        decision = attempt -> {
            repeated.close(delivery, CLOSED);
            assertThat(outcomes).as("outcomes at the end").containsExactly("a CLOSED");
            attempt.repeat(HOUR);
        };
        call("a");
        waiting("after the end", 0);
        assertThat(outcomes).as("outcomes").containsExactly("a CLOSED");
    }
}
