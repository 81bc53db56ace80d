package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.tensor.Tensor;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Waits;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.Deadlines;
import io.waybill.worker.poll.NothingToPoll;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.publish.PublishingRoom.Collaborator;
import io.waybill.worker.publish.RecordSender;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of a writer without a worker: what fails behind the append is not the call's, and what fails before it leaves nothing. */
@Timeout(60)
@TestInstance(Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RequestPublishingTest {

    private static final FlowLimits LIMITS = new FlowLimits(1000, 1 << 20, 4, Overflow.REFUSE);

    private Deadlines deadlines;
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
    private PublishingRoom room;
    private Poller poller;
    private WaitingCallers waiting;
    private PendingCalls pending;
    private RequestWriter writer;
    private RecordSender sender; // null for the journal
    private long endedBefore;

    @BeforeAll
    void open(@TempDir Path directory) throws Exception {
        room = new PublishingRoom(directory);
        pending = new PendingCalls(room.directory.id(), LIMITS.calls(), 7);
        PollContext polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        deadlines = polling.deadlines();
        poller = new Poller(polling);
        waiting = new WaitingCallers(polling, poller);
        NotedOutcomes noted = new NotedOutcomes(room.directory.path(), room.host);
        CallingContext context = new CallingContext(
                room.context,
                new CallSettings(Duration.ofSeconds(20), LIMITS, PublishingRoom.JOURNAL.maxRecordBytes(), false),
                pending,
                poller,
                waiting,
                polling.deadlines(),
                new AwaitedReturns(room.links, Duration.ZERO),
                new OutcomeDelivery(polling.permit(), room.context.reports(), room.counters, noted));
        LinkLookup lookup = new LinkLookup(room.links, room.host, () -> false);
        writer = new RequestWriter(
                context,
                room.requests,
                (record, to, wallNs) ->
                        sender == null ? room.requests.append(record, wallNs) : sender.put(record, to, wallNs),
                lookup);
        lookup.require("a", 0, false);
    }

    @BeforeEach
    void begin() throws Exception {
        room.begin();
        outcomes.clear();
        deadlines.restart();
        sender = null;
        endedBefore = ended();
    }

    @AfterAll
    void close() throws IOException {
        room.close();
    }

    private long write(Tensor... tensors) {
        Request request = Request.raw("a", MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of(tensors));
        return writer.write(request, listener, MessageId.NONE, 0, null, CallContext.EMPTY, CallContext.EMPTY);
    }

    private long send() {
        Tensor sent = room.tensor();
        try {
            return write(sent);
        } finally {
            sent.storage().release();
        }
    }

    /** Its response may come at once: the peer then need not ring for a thread that polls. */
    @Test
    void aThreadThatWaitsPollsFromBeforeItsRequestIsOnRecord() {
        poller.start(new NothingToPoll());
        try {
            Waits.until("the poller sleeps", () -> room.directory.cursors().isMarkedAsleep());
            List<Boolean> asleep = new ArrayList<>();
            sender = (record, to, wallNs) -> {
                asleep.add(room.directory.cursors().isMarkedAsleep());
                return room.requests.append(record, wallNs);
            };
            BlockingCall call = new BlockingCall(waiting);
            Request request = Request.raw("a", MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of());
            long id = writer.write(request, call, MessageId.NONE, 0, null, CallContext.EMPTY, CallContext.EMPTY);
            assertThat(asleep).as("whether peers ring when it is written").containsExactly(false);
            call.notSent();
            Waits.until("peers ring again", () -> room.directory.cursors().isMarkedAsleep());
            PendingCalls.Slot slot = pending.take(id);
            slot.count(null, 100, room.host.clock().wallNs());
            pending.free(slot);
        } finally {
            poller.close();
        }
        assertAllIsBack();
    }

    private long inFlight() {
        return room.counters.called().read().stream()
                .mapToLong(OperationMetrics::inFlight)
                .sum();
    }

    private long ended() {
        return room.counters.called().read().stream()
                .mapToLong(OperationMetrics::count)
                .sum();
    }

    private static Throwable planted(boolean isError) {
        return isError ? new StackOverflowError("planted") : new IllegalStateException("planted");
    }

    @ParameterizedTest(name = "{0}, with an error: {1}")
    @CsvSource({
        "ARCHIVE, false",
        "ARCHIVE, true",
        "WAKE_UP, false",
        "WAKE_UP, true",
        "EVENTS, false",
        "EVENTS, true",
    })
    void isInFlightWhateverFailsBehindTheAppend(Collaborator failing, boolean isError) throws Exception {
        room.plant(failing, planted(isError));
        long id = send();
        assertThat(room.called())
                .as("who was called behind the append")
                .containsExactly(Collaborator.ARCHIVE, Collaborator.WAKE_UP, Collaborator.EVENTS);
        assertThat(room.publishingErrors()).as("failures that were counted").isEqualTo(1);
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .containsExactly(MessageId.text(id));
        assertThat(pending.size()).as("calls in flight").isEqualTo(1);
        assertThat(inFlight()).as("calls that are counted as in flight").isEqualTo(1);
        assertThat(deadlines.earliestNs()).as("the deadline that is checked").isLessThan(Long.MAX_VALUE);
        assertThat(outcomes).as("outcomes so far").isEmpty();
        complete(id);
        room.giveBackLeases();
        assertAllIsBack();
        assertThat(ended() - endedBefore).as("calls that are counted as ended").isEqualTo(1);
    }

    private void complete(long id) {
        PendingCalls.Slot slot = pending.take(id);
        slot.count(null, 100, room.host.clock().wallNs());
        assertThat(pending.free(slot)).isSameAs(listener);
    }

    private void assertAllIsBack() {
        assertThat(pending.size() + pending.taken())
                .as("calls in flight or taken")
                .isZero();
        assertThat(room.link().flow().expectsResponses())
                .as("whether a response is expected")
                .isFalse();
        assertThat(room.leases()).as("leases").isZero();
        assertThat(room.heldBytes()).as("bytes in segments that are held").isZero();
        assertThat(inFlight()).as("calls that are counted as in flight").isZero();
    }

    /** What keeps a request from being appended. */
    private enum Before {
        STORAGE,
        SENDER
    }

    @ParameterizedTest(name = "{0}, with an error: {1}")
    @CsvSource({"STORAGE, false", "STORAGE, true", "SENDER, false", "SENDER, true"})
    void leavesNothingWhenAStepBeforeTheAppendFails(Before before, boolean isError) throws Exception {
        Throwable planted = planted(isError);
        Throwable thrown = catchThrowable(() -> sendWith(before, planted));
        assertThat(thrown).isSameAs(planted);
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .isEmpty();
        assertThat(room.called()).as("who was called").isEmpty();
        assertThat(outcomes).as("outcomes beside the exception").isEmpty();
        assertAllIsBack();
        sender = null;
        long id = write();
        assertThat(room.onRecord(JournalQueue.REQUESTS)).containsExactly(MessageId.text(id));
        complete(id);
    }

    @Test
    @Order(Integer.MAX_VALUE) // nothing can be written any more
    void leavesNothingWhenTheJournalHasFailed() throws Exception {
        room.requests.journal().fail(planted(false));
        assertThatThrownBy(this::send)
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FAILED));
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .isEmpty();
        assertThat(room.called()).as("who was called").isEmpty();
        assertAllIsBack();
    }

    private void sendWith(Before before, Throwable planted) {
        switch (before) {
            case STORAGE -> {
                Tensor sent = room.tensor();
                try {
                    write(sent, PublishingRoom.tensorThat(() -> PublishingRoom.throwUnchecked(planted)));
                } finally {
                    sent.storage().release();
                }
            }
            case SENDER -> {
                sender = (record, to, wallNs) -> {
                    PublishingRoom.throwUnchecked(planted);
                    return 0;
                };
                send();
            }
        }
    }

    /** The deadline passes while the request is composed, and then that fails: the call has had its outcome. */
    @Test
    void throwsNothingWhenAnotherThreadHasCompletedTheCall() throws Exception {
        Tensor sent = room.tensor();
        long id = write(sent, PublishingRoom.tensorThat(() -> {
            pending.expire(Long.MAX_VALUE, (slot, expired) -> {
                slot.count(ErrorCode.TIMED_OUT, 0, room.host.clock().wallNs());
                pending.free(slot).onFailure(CallErrors.timedOut(expired, 1, "a"));
            });
            throw new IllegalStateException("planted");
        }));
        sent.storage().release();
        assertThat(MessageId.worker(id))
                .as("the sender in the id that is returned")
                .isEqualTo(room.directory.id());
        assertThat(outcomes).as("the outcomes of the call").containsExactly("TIMED_OUT");
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .isEmpty();
        assertAllIsBack();
    }
}
