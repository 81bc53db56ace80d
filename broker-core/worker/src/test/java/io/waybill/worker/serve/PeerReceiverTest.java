package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import io.waybill.wire.Envelope;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.poll.Polled;
import io.waybill.worker.poll.Revoker;
import io.waybill.worker.publish.SelfTails;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the polls of a worker do with its calls to itself, one poll after the other on the thread of the test. */
@Timeout(60)
class PeerReceiverTest {

    private static final Provider GUARD = new Provider("guard", "1.0.0");
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int MANY_POLLS = 1000; // many times the number after which the clock is read

    private final List<String> begun = new ArrayList<>(); // ids, in order
    private final List<LateResponse> late = new ArrayList<>();
    private ServingRoom room;
    private PeerReceiver receiver;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new ServingRoom(directory);
        Quarantine quarantine = new Quarantine(room.publishing.links, room.clock, room.polling.faults());
        RecordReader reader = new RecordReader(room.publishing.directory.id(), quarantine, room.publishing.counters);
        receiver = new PeerReceiver(
                room.polling,
                room.publishing.links,
                room.calling.receiver(room.references, reader),
                new RequestReceiver(room.dispatcher, room.pool, reader),
                new SelfTails(room.publishing.requests, room.publishing.responses));
    }

    @AfterEach
    void close() throws IOException {
        Waits.until(
                "the search for responses ends",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("a-repeats")));
        room.close();
    }

    private CompletableFuture<Response> call() {
        return room.calling.calls.callAsync(Request.raw("a", ServingRoom.TYPE, ByteBuffer.allocate(4), List.of())
                .timeout(TIMEOUT));
    }

    /** Polls as often as it takes for what is there already. Returns the work of the polls. */
    private int poll() {
        int work = 0;
        for (int i = 0; i < 10; i++) {
            work += receiver.poll();
        }
        return work;
    }

    private static void hasResponse(CompletableFuture<Response> call) {
        assertThat(call).as("the call").isCompleted();
        call.join().close();
    }

    private static void hasFailed(CompletableFuture<Response> call, ErrorCode code) {
        assertThat(call)
                .as("the call")
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        CallException.class,
                        failure -> assertThat(failure.code())
                                .as("code of the failure")
                                .isEqualTo(code));
    }

    @Test
    void aPollOfEmptyQueuesDoesNoWork() {
        assertThat(receiver.poll()).as("work of a poll").isZero();
        assertThat(receiver.pollAll()).as("work of a poll of all").isZero();
    }

    @Test
    void aCallIsServedAndCompletedByPolls() {
        room.handleInto(begun);
        CompletableFuture<Response> call = call();
        assertThat(call).as("the call before a poll").isNotDone();
        assertThat(receiver.mayHaveWork()).as("whether there may be work").isTrue();
        assertThat(poll()).as("work: a request and a response").isEqualTo(2);
        assertThat(begun).as("requests that the handler ran").hasSize(1);
        hasResponse(call);
        assertThat(receiver.mayHaveWork()).as("whether there may be more work").isFalse();
        assertThat(poll()).as("work of later polls").isZero();
    }

    @Test
    void callsAreServedInTheirOrder() {
        room.handleInto(begun);
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            calls.add(call());
        }
        poll();
        assertThat(begun)
                .as("requests that the handler ran")
                .hasSize(9)
                .isSorted()
                .doesNotHaveDuplicates();
        calls.forEach(PeerReceiverTest::hasResponse);
    }

    @Test
    void aCallWithoutAHandlerFails() {
        CompletableFuture<Response> call = call();
        poll();
        hasFailed(call, ErrorCode.UNKNOWN_TYPE);
    }

    @Test
    void aCallExpiresWithThePollAfterTheClockWasRead() {
        room.handle((message, outbox) -> late.add(outbox.later()));
        CompletableFuture<Response> call = call();
        poll();
        receiver.readClock();
        receiver.poll();
        assertThat(call).as("the call before its deadline").isNotDone();
        room.clock.advance(TIMEOUT.plusMillis(1));
        receiver.readClock();
        receiver.poll();
        hasFailed(call, ErrorCode.TIMED_OUT);
    }

    @Test
    void theClockIsReadAfterSomePolls() {
        room.handle((message, outbox) -> late.add(outbox.later()));
        CompletableFuture<Response> call = call();
        poll();
        room.clock.advance(TIMEOUT.plusMillis(1));
        for (int i = 0; i < MANY_POLLS && !call.isDone(); i++) {
            receiver.poll();
        }
        hasFailed(call, ErrorCode.TIMED_OUT);
    }

    @Test
    void aRequestIsNotBegunBehindItsDeadline() {
        room.handleInto(begun);
        CompletableFuture<Response> call = call();
        room.clock.advance(TIMEOUT.plusMillis(1));
        receiver.readClock();
        poll();
        assertThat(begun).as("requests that the handler ran").isEmpty();
        hasFailed(call, ErrorCode.TIMED_OUT);
    }

    /** Such as one that came behind the deadline. */
    @Test
    void aResponseThatNoCallWaitsForDoesNotStopTheOthers() {
        room.handle((message, outbox) -> late.add(outbox.later()));
        CompletableFuture<Response> call = call();
        poll();
        room.clock.advance(TIMEOUT.plusMillis(1));
        receiver.readClock();
        poll();
        hasFailed(call, ErrorCode.TIMED_OUT);
        CompletableFuture<Response> next = call();
        poll();
        late.get(0).send(Value.NONE);
        late.get(1).send(Value.of("mine"));
        poll();
        hasResponse(next);
        assertThat(receiver.pollAll()).as("work that is left").isZero();
    }

    @Test
    void aRequestThatWaitsIsServedByAPollWhenItsHandlerReturns() {
        room.handleInto(begun).withdraw(Duration.ZERO);
        CompletableFuture<Response> call = call();
        poll();
        assertThat(call).as("the call while the handler is away").isNotDone();
        assertThat(receiver.mayHaveWork()).as("whether there may be work").isTrue();
        room.handleInto(begun);
        poll();
        assertThat(begun).as("requests that the handler ran").hasSize(1);
        hasResponse(call);
    }

    @Test
    void requestsThatWaitStayWhereTheyAreWhenTheWorkerLeaves() {
        room.handleInto(begun).withdraw(Duration.ZERO);
        CompletableFuture<Response> call = call();
        poll();
        room.dispatcher.leave();
        room.handleInto(begun);
        poll();
        assertThat(begun).as("requests that the handler ran").isEmpty();
        assertThat(call).as("the call").isNotDone();
        assertThat(room.parked.size()).as("requests that wait").isEqualTo(1);
    }

    @Test
    void aRequestThatComesAgainIsServedByAPollAfterTheSearchForItsResponse() throws Exception {
        room.handleInto(begun, DeliveryPolicy.AT_LEAST_ONCE);
        room.begin(ServingRoom.TYPE).flags(Envelope.REPEATED);
        room.link.flow().sent(Envelope.HEADER_LENGTH);
        room.write();
        assertThat(receiver.poll()).as("work of the poll that reads it").isPositive();
        Waits.until("the search has a result", () -> room.dispatcher.hasRepeats() || !begun.isEmpty());
        receiver.poll();
        assertThat(begun).as("requests that the handler ran").containsExactly(room.lastId());
        assertThat(room.responded()).as("responses on record").containsExactly(room.lastId());
        assertThat(room.dispatcher.hasRepeats()).as("whether there are more").isFalse();
    }

    /** The next holder of the permit continues with what the last one had left. */
    @Test
    void aPollTakesOverFromAHolderThatLostThePermit() throws Exception {
        room.handleInto(begun);
        room.registry.policies().add(GUARD, request -> {
            if (room.permit.revocations() == 0) {
                Revoker.revoke(room.permit);
            }
            return Decision.allow();
        });
        CompletableFuture<Response> first = call();
        CompletableFuture<Response> second = call();
        assertThat(receiver.poll()).as("what a poll returns without the permit").isEqualTo(Polled.PERMIT_LOST);
        assertThat(first).as("the first call before another thread polls").isNotDone();
        assertThat(room.permit.tryAcquire()).isTrue();
        poll();
        hasFailed(first, ErrorCode.ACCESS_DENIED);
        hasResponse(second);
        assertThat(begun).as("requests that the handler ran").hasSize(1);
    }

    @Test
    void aPollThatLosesThePermitInAHandlerIsContinuedByTheNextOne() throws Exception {
        room.handle((message, outbox) -> {
            begun.add(MessageId.text(message.id()));
            outbox.respond(Value.NONE);
            if (begun.size() == 1) {
                Thread other = new Thread(room.permit::tryAcquire);
                other.start();
                try {
                    other.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        CompletableFuture<Response> first = call();
        CompletableFuture<Response> second = call();
        assertThat(receiver.poll()).as("what a poll returns without the permit").isEqualTo(Polled.PERMIT_LOST);
        assertThat(begun).as("requests that the handler ran").hasSize(1);
        room.permit.release(); // by the other thread, which has ended
        assertThat(room.permit.tryAcquire()).isTrue();
        poll();
        hasResponse(first);
        hasResponse(second);
    }
}
