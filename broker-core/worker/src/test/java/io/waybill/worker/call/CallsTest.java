package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;
import io.waybill.journal.JournalQueue;
import io.waybill.worker.poll.HandlerSlot;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls of a program: what they return, where they may wait, and what is sent when they may not. */
@Timeout(120)
class CallsTest {

    @TempDir
    private Path directory;

    private final List<String> outcomes = new ArrayList<>();
    private final ResponseListener listener = new ResponseListener() {
        @Override
        public void onResponse(Response response) {
            outcomes.add("response");
        }

        @Override
        public void onFailure(CallException failure) {
            outcomes.add(failure.code().name());
        }
    };
    private CallingRoom room;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private static Request toNoWorker() {
        return Request.raw("missing", CallingRoom.TYPE, ByteBuffer.allocate(8), List.of());
    }

    private List<String> sent() throws IOException {
        return room.publishing.onRecord(JournalQueue.REQUESTS);
    }

    /** A request whose handler the thread of the test is inside of. */
    private record Handled(long id, long deadlineNs) implements HandlerCall {
        @Override
        public long sequence() {
            return 1;
        }

        @Override
        public HandlerEntry entry() {
            return null;
        }

        @Override
        public void abandon(long sequence) {}
    }

    @Test
    void aCallThatWaitsReturnsTheResponseOfItsPeerAndKeepsIt() throws Exception {
        room.start(request -> room.respond(request.id(), Value.of("on " + request.id())));
        List<Response> kept = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            kept.add(room.calls.call(CallingRoom.request()));
        }
        for (Response response : kept) {
            assertThat(response.value()).as("a response that was kept").isEqualTo(Value.of("on " + response.id()));
            response.close();
        }
        assertThat(room.permit.isMine()).as("the caller polls still").isFalse();
    }

    @Test
    void aCallThatWaitsThrowsTheErrorOfItsPeerWithTheStackOfItsCaller() {
        room.start(request -> room.write(room.begin(MessageType.EXCEPTION, request.id(), room.id, Value.of("no"))
                .error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED)));
        assertThatThrownBy(() -> room.calls.call(CallingRoom.request()), "a call whose peer fails")
                .isInstanceOfSatisfying(CallException.class, e -> {
                    assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
                    assertThat(e.getSuppressed())
                            .as("stacks with the test that called")
                            .anyMatch(caller ->
                                    List.of(caller.getStackTrace()).toString().contains("CallsTest"));
                });
    }

    @Test
    void aCallThatCanNotBeSentFailsItsFutureAndThrowsToOthers() throws Exception {
        CompletableFuture<Response> future = room.calls.callAsync(toNoWorker());
        assertThat(future).as("the future").isCompletedExceptionally();
        assertThatThrownBy(future::get, "the outcome of the future")
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(CallException.class);
        assertThatThrownBy(() -> room.calls.call(toNoWorker(), listener), "a call with a listener")
                .isInstanceOf(CallException.class);
        assertThatThrownBy(() -> room.calls.call(toNoWorker()), "a call that waits")
                .isInstanceOf(CallException.class);
        assertThat(outcomes).as("outcomes of a call that was not sent").isEmpty();
        assertThat(sent()).as("requests on record").isEmpty();
    }

    @Test
    void aThreadThatPollsMustNotWaitAndSendsNothingThen() throws Exception {
        assertThat(room.calls.mayBlock()).as("a thread of the program may wait").isTrue();
        assertThat(room.permit.tryAcquire()).isTrue();
        assertThat(room.calls.mayBlock()).as("a thread that polls may wait").isFalse();
        assertThatThrownBy(() -> room.calls.call(CallingRoom.request()), "a call that waits")
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> room.calls.await(new CompletableFuture<>()), "the wait for a future")
                .isInstanceOf(IllegalStateException.class);
        assertThat(sent()).as("requests on record").isEmpty();
        CompletableFuture<Response> future = room.calls.callAsync(CallingRoom.request());
        assertThat(sent())
                .as("requests on record, with a call that does not wait")
                .hasSize(1);
        assertThat(future).as("its future").isNotDone();
        room.permit.release();
    }

    @Test
    void aResponseToAFutureThatWasCancelledIsReleased() throws Exception {
        assertThat(room.permit.tryAcquire()).isTrue();
        CompletableFuture<Response> taken = room.calls.callAsync(CallingRoom.request());
        CompletableFuture<Response> cancelled = room.calls.callAsync(CallingRoom.request());
        cancelled.cancel(false);
        assertThat(sent()).as("requests on record").hasSize(2);
        for (int counter = 1; counter <= 2; counter++) {
            room.respond(MessageId.of(room.id, counter), room.publishing.tensor());
        }
        room.poll();
        assertThat(room.publishing.leases())
                .as("leases, with the response that was taken")
                .isEqualTo(1);
        taken.get().close();
        assertThat(room.publishing.leases()).as("leases without it").isZero();
        room.permit.release();
    }

    @Test
    void callsFromAHandlerAreThoseOfItsRequestAndEndWithIt() {
        long timeoutNs = TimeUnit.HOURS.toNanos(1);
        assertThat(room.calls.boundedHere(timeoutNs))
                .as("a timeout outside of handlers")
                .isEqualTo(timeoutNs);
        HandlerSlot slot = room.polling.invocations().own();
        long nowNs = room.publishing.host.clock().bootNs();
        HandlerCall before = slot.enter(new Handled(MessageId.of(room.id, 77), nowNs + timeoutNs / 2));
        assertThat(room.calls.boundedHere(timeoutNs))
                .as("a longer timeout inside of the handler")
                .isPositive()
                .isLessThanOrEqualTo(timeoutNs / 2);
        assertThat(room.calls.boundedHere(0))
                .as("no timeout inside of the handler")
                .isPositive()
                .isLessThanOrEqualTo(timeoutNs / 2);
        assertThat(room.calls.boundedHere(5)).as("a shorter timeout").isEqualTo(5);
        List<Long> parents = new ArrayList<>();
        room.start(request -> {
            parents.add(request.parent());
            room.respond(request.id(), Value.of("on"));
        });
        room.calls.callFromHere(CallingRoom.request()).close();
        room.calls.call(CallingRoom.request()).close();
        slot.leave(before);
        slot.enter(new Handled(MessageId.of(room.id, 78), nowNs - 1));
        assertThat(room.calls.boundedHere(0))
                .as("the timeout after the deadline of the request")
                .isEqualTo(1);
        slot.leave(null);
        assertThat(parents)
                .as("parents of a call from the handler, and of one of the program")
                .containsExactly(MessageId.of(room.id, 77), MessageId.NONE);
    }

    @Test
    void noCallBeginsAfterTheClose() throws Exception {
        room.parts.writer.close();
        assertThatThrownBy(() -> room.calls.call(CallingRoom.request().timeout(Duration.ofHours(1))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        assertThatThrownBy(() -> room.calls.callAsync(CallingRoom.request()).join(), "the outcome of a future")
                .hasCauseInstanceOf(CallException.class);
        assertThat(sent()).as("requests on record").isEmpty();
    }
}
