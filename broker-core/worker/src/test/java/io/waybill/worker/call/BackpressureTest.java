package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.host.ManualClock;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.NothingToPoll;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls for which there is no room: which are refused, and which wait until when. */
@Timeout(60)
class BackpressureTest {

    private static final long TIMEOUT_NS = Duration.ofMillis(20).toNanos();
    private static final String FULL = "the table is full";

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private PublishingRoom room;
    private PollContext polling;
    private Poller poller;
    private WaitingCallers waits;
    private PeerLink link;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        poller = new Poller(polling);
        waits = new WaitingCallers(polling, poller);
        link = room.link();
        link.flow().sent(8);
        link.flow().sent(8);
    }

    @AfterEach
    void close() throws IOException {
        poller.close();
        room.close();
    }

    private Backpressure with(Overflow overflow) {
        return new Backpressure(overflow, waits, clock, room.counters);
    }

    /** The call gets this error, with a reason in its text. */
    private static void fails(String when, ThrowingCallable call, ErrorCode code, String why) {
        CallException failure = catchThrowableOfType(CallException.class, call);
        assertThat(failure).as("the error %s", when).isNotNull();
        assertThat(failure.code()).as("its code %s", when).isEqualTo(code);
        assertThat(failure).as("its text %s", when).hasMessageContaining(why);
    }

    private static void passes(String when, ThrowingCallable call) {
        assertThatCode(call).as(when).doesNotThrowAnyException();
    }

    @Test
    void aCallIsRefusedWhenCallsDoNotWait() {
        Backpressure refusing = with(Overflow.REFUSE);
        String why = "worker " + link + ": 2 calls";
        fails("of a peer without room", () -> refusing.requireMayWait(link), ErrorCode.BACK_PRESSURE, why);
        fails("of another resource", () -> refusing.await(FULL, 0, TIMEOUT_NS), ErrorCode.BACK_PRESSURE, FULL);
        fails(
                "after the deadline, too",
                () -> refusing.await(FULL, clock.bootNs(), TIMEOUT_NS),
                ErrorCode.BACK_PRESSURE,
                FULL);
        assertThat(room.counters.timeouts()).as("calls that timed out").isZero();
    }

    @Test
    void aThreadThatPollsIsRefusedAndNoOther() throws Exception {
        Backpressure waiting = with(Overflow.WAIT);
        passes("before it polls", () -> waiting.requireMayWait(link));
        assertThat(polling.permit().tryAcquire()).isTrue();
        fails("while it polls", () -> waiting.requireMayWait(link), ErrorCode.BACK_PRESSURE, link.toString());
        fails("while it polls", () -> waiting.await(FULL, 0, TIMEOUT_NS), ErrorCode.BACK_PRESSURE, FULL);
        CompletableFuture.runAsync(() -> waiting.requireMayWait(link)).get();
        polling.permit().release();
        passes("after it has polled", () -> waiting.requireMayWait(link));
    }

    @Test
    void aThreadInsideANonBlockingHandlerIsRefused() {
        Backpressure waiting = with(Overflow.WAIT);
        polling.invocations().own().beginInline();
        fails("inside", () -> waiting.requireMayWait(link), ErrorCode.BACK_PRESSURE, link.toString());
        fails("inside", () -> waiting.await(FULL, 0, TIMEOUT_NS), ErrorCode.BACK_PRESSURE, FULL);
        polling.invocations().own().endInline();
        passes("outside", () -> waiting.requireMayWait(link));
    }

    @Test
    void aCallWaitsUntilItsDeadline() {
        poller.start(new NothingToPoll());
        Backpressure waiting = with(Overflow.WAIT);
        long deadlineNs = clock.bootNs() + TIMEOUT_NS;
        passes("a wait for a peer before the deadline", () -> waiting.await(link, deadlineNs, TIMEOUT_NS));
        passes("a wait for another resource", () -> waiting.await(FULL, deadlineNs, TIMEOUT_NS));
        assertThat(room.counters.timeouts()).as("calls that timed out before").isZero();
        clock.advance(Duration.ofNanos(TIMEOUT_NS));
        fails(
                "of a peer without room",
                () -> waiting.await(link, deadlineNs, TIMEOUT_NS),
                ErrorCode.TIMED_OUT,
                "worker " + link + ": 2 calls");
        fails("of another resource", () -> waiting.await(FULL, deadlineNs, TIMEOUT_NS), ErrorCode.TIMED_OUT, FULL);
        assertThat(room.counters.timeouts()).as("calls that timed out").isEqualTo(2);
    }

    @Test
    void aCallWithoutADeadlineGoesOnWaiting() {
        poller.start(new NothingToPoll());
        Backpressure waiting = with(Overflow.WAIT);
        clock.advance(Duration.ofDays(1000));
        passes("a wait for a peer", () -> waiting.await(link, 0, 0));
        passes("a wait for another resource", () -> waiting.await(FULL, 0, 0));
        assertThat(room.counters.timeouts()).as("calls that timed out").isZero();
    }
}
