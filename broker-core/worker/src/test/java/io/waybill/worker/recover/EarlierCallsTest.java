package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.publish.QueueAppender;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Claims to outcomes of calls that an earlier incarnation made to its own worker: requests and responses are on record as it left them. */
@Timeout(180)
class EarlierCallsTest {

    private static final Duration NO_LIMIT = Duration.ZERO;
    private static final byte[] PAYLOAD = {1, 2, 3, 4};

    @TempDir
    private Path directory;

    private PublishingRoom room;
    private EarlierCalls earlier;
    private int id;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        id = room.directory.id();
        PollContext polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        Poller poller = new Poller(polling);
        CallParts calling = new CallParts(
                new CallParts.Context(
                        room.host,
                        room.context,
                        polling,
                        poller,
                        new WaitingCallers(polling, poller),
                        room.links,
                        new InterceptorRegistry(room.host).calls()),
                new CallParts.Settings(
                        new CallSettings(
                                Duration.ofSeconds(20),
                                FlowLimits.defaults(),
                                PublishingRoom.JOURNAL.maxRecordBytes(),
                                false),
                        Duration.ZERO,
                        InjectionSettings.NONE,
                        1000),
                room.requests,
                new NotedOutcomes(room.directory.path(), room.host));
        room.link();
        earlier = new EarlierCalls(
                room.directory, PublishingRoom.JOURNAL, new RecoverySettings(NO_LIMIT), room.links, calling.writer);
    }

    @AfterEach
    void close() throws IOException {
        earlier.close();
        room.close();
    }

    private long write(QueueAppender to, MessageType type, int counter) throws Exception {
        long call = MessageId.of(id, counter);
        MessageBuffer record = new MessageBuffer();
        record.begin(type, call, id, id, PAYLOAD.length, 0)
                .epoch(room.directory.epoch())
                .sentNs(room.host.clock().wallNs())
                .payload(PAYLOAD, 0, PAYLOAD.length);
        to.lock();
        try {
            to.append(record, room.host.clock().wallNs());
        } finally {
            to.unlock();
        }
        return call;
    }

    private long ask(int counter) throws Exception {
        return write(room.requests, MessageType.NAMED_CALL, counter);
    }

    private void respond(int counter) throws Exception {
        write(room.responses, MessageType.NAMED_RET, counter);
    }

    private CompletableFuture<Response> claim(long call, Duration timeout) {
        return earlier.claim(call, OutcomeClaim.Way.WAIT, timeout);
    }

    private static void assertFails(CompletableFuture<Response> claim, ErrorCode code) {
        Waits.until("a claim that is to fail with " + code + " has its outcome", claim::isDone);
        assertThatThrownBy(claim::get, "the outcome of a claim")
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class,
                        e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }

    private static void assertResponds(CompletableFuture<Response> claim, long call) throws Exception {
        Waits.until("a claim to a response has its outcome", claim::isDone);
        try (Response response = claim.get()) {
            assertThat(response.id()).as("the call of a response").isEqualTo(call);
            assertThat(response.payload().remaining()).as("its bytes").isEqualTo(PAYLOAD.length);
        }
    }

    @Test
    void aCallThatIsNotOfThisWorkerOrNotOnRecordIsUnknown() throws Exception {
        ask(1);
        assertFails(claim(MessageId.of(id + 1, 1), NO_LIMIT), ErrorCode.UNKNOWN_CALL);
        assertFails(claim(MessageId.of(id, 2), NO_LIMIT), ErrorCode.UNKNOWN_CALL);
    }

    @Test
    void aResponseOnRecordIsTheOutcomeEachTimeItIsClaimed() throws Exception {
        long call = ask(1);
        respond(1);
        assertResponds(claim(call, NO_LIMIT), call);
        assertResponds(claim(call, NO_LIMIT), call);
    }

    @Test
    void aClaimWaitsForItsOwnResponse() throws Exception {
        long first = ask(1);
        long second = ask(2);
        CompletableFuture<Response> waits = claim(first, NO_LIMIT);
        CompletableFuture<Response> too = claim(first, NO_LIMIT);
        respond(2);
        assertResponds(claim(second, NO_LIMIT), second);
        assertThat(waits).as("the claim to a call without a response").isNotDone();
        respond(1);
        assertResponds(waits, first);
        assertResponds(too, first);
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record, which were not sent again")
                .hasSize(2);
    }

    @Test
    void aClaimTimesOutAndALaterOneIsServed() throws Exception {
        long call = ask(1);
        assertFails(claim(call, Duration.ofMillis(1)), ErrorCode.TIMED_OUT);
        respond(1);
        assertResponds(claim(call, NO_LIMIT), call);
    }

    @Test
    void aRepeatedRequestIsOnRecordAgainUnderItsId() throws Exception {
        long call = ask(1);
        CompletableFuture<Response> waits = earlier.claim(call, OutcomeClaim.Way.REPEAT, NO_LIMIT);
        Waits.until(
                "the request is on record again",
                () -> room.onRecord(JournalQueue.REQUESTS).size() == 2);
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .containsOnly(MessageId.text(call));
        assertThat(waits).as("the claim without a response").isNotDone();
        respond(1);
        assertResponds(waits, call);
    }

    @Test
    void theCloseFailsWhatWaitsAndWhatComesLater() throws Exception {
        long call = ask(1);
        CompletableFuture<Response> waits = claim(call, NO_LIMIT);
        earlier.close();
        assertFails(waits, ErrorCode.CLOSED);
        assertFails(claim(call, NO_LIMIT), ErrorCode.CLOSED);
    }
}
