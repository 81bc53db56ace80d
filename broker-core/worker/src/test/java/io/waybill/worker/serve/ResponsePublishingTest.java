package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ServedBy;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.journal.JournalQueue;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.metrics.OperationTable;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.publish.PublishingRoom.Collaborator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
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
import org.junit.jupiter.params.provider.ValueSource;

/** Responses of a writer without a worker: one on record for each request, whatever fails behind its append. */
@Timeout(60)
@TestInstance(Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ResponsePublishingTest {

    private final MessageBuffer asked = new MessageBuffer();
    private final RecordView request = new RecordView(asked);
    private PublishingRoom room;
    private ResponseWriter writer;
    private OperationTable served;
    private OperationCounts counts;
    private int requests;
    private String id;

    /** The kinds of responses. */
    private enum Way {
        /** With a tensor in a segment. */
        OF_A_HANDLER,
        ERROR,
        AGAIN
    }

    @BeforeAll
    void open(@TempDir Path directory) throws Exception {
        room = new PublishingRoom(directory);
        writer = new ResponseWriter(room.context, room.responses, room.slots);
        room.link();
    }

    /** Reads a request. */
    @BeforeEach
    void begin() throws Exception {
        room.begin();
        int worker = room.directory.id();
        asked.begin(MessageType.userRequest(0x42), MessageId.of(worker, ++requests), worker, worker, 0, 0);
        asked.seal(0);
        request.check();
        id = MessageId.text(request.id());
        served = new WorkerCounters().served();
        counts = served.of(request, worker, "a");
        counts.begun();
    }

    @AfterAll
    void close() throws IOException {
        room.close();
    }

    private boolean respond(Way way) {
        switch (way) {
            case OF_A_HANDLER -> {
                Tensor tensor = room.tensor();
                OutgoingResponse response = new OutgoingResponse();
                response.raw(ByteBuffer.allocate(8), List.of(tensor)); // which has its count from here on
                ResponseBody body = new ResponseBody();
                body.open(response, 0, ServedBy.NONE, Observations.NO_BYTES);
                body.respondsTo(writer, room.link(), request);
                body.countedBy(counts);
                boolean sent = writer.send(body);
                body.close();
                response.reset();
                return sent;
            }
            case ERROR -> {
                ResponseBody.OfError error =
                        new ResponseBody.OfError(Failure.of(ErrorCode.HANDLER_FAILED, 1, "a handler's own"));
                error.respondsTo(writer, room.link(), request);
                error.countedBy(counts);
                writer.fail(error);
                return true;
            }
            default -> {
                writer.again(room.link(), request);
                return true;
            }
        }
    }

    private static Throwable planted(boolean isError) {
        return isError ? new StackOverflowError("planted") : new IllegalStateException("planted");
    }

    @ParameterizedTest(name = "{1} of a response {0}, with an error: {2}")
    @CsvSource({
        "OF_A_HANDLER, ARCHIVE, false", "OF_A_HANDLER, ARCHIVE, true",
        "OF_A_HANDLER, WAKE_UP, false", "OF_A_HANDLER, WAKE_UP, true",
        "OF_A_HANDLER, EVENTS, false", "OF_A_HANDLER, EVENTS, true",
        "ERROR, WAKE_UP, false", "ERROR, WAKE_UP, true",
        "ERROR, EVENTS, false", "ERROR, EVENTS, true",
        "AGAIN, WAKE_UP, false", "AGAIN, WAKE_UP, true",
    })
    void isOnRecordOnceWhateverFailsBehindTheAppend(Way way, Collaborator failing, boolean isError) throws Exception {
        room.plant(failing, planted(isError));
        assertThat(respond(way)).as("whether it was sent").isTrue();
        assertThat(room.onRecord(JournalQueue.RESPONSES))
                .as("responses on record")
                .containsExactly(way == Way.ERROR ? id + " HANDLER_FAILED" : id);
        List<Collaborator> called = way == Way.AGAIN
                ? List.of(Collaborator.WAKE_UP)
                : way == Way.ERROR
                        ? List.of(Collaborator.WAKE_UP, Collaborator.EVENTS)
                        : List.of(Collaborator.ARCHIVE, Collaborator.WAKE_UP, Collaborator.EVENTS);
        assertThat(room.called()).as("who was called behind the append").containsExactlyElementsOf(called);
        assertThat(room.publishingErrors()).as("failures that were counted").isEqualTo(1);
        assertThat(room.leases()).as("leases of the caller").isEqualTo(way == Way.OF_A_HANDLER ? 1 : 0);
        room.giveBackLeases();
        assertThat(room.leases())
                .as("leases, when the caller has given them back")
                .isZero();
        assertThat(room.heldBytes()).as("bytes in segments that are held").isZero();
        assertThat(writer.unwritten()).as("responses that could not be written").isZero();
        if (way != Way.AGAIN) {
            assertOutcome(way == Way.ERROR ? ErrorCode.HANDLER_FAILED : null);
        }
    }

    private void assertOutcome(ErrorCode error) {
        OperationMetrics figures = served.read().get(0);
        assertThat(figures.count()).as("outcomes that were counted").isEqualTo(1);
        assertThat(figures.inFlight()).as("requests in flight").isZero();
        assertThat(figures.errors().keySet())
                .as("errors that were counted")
                .containsExactlyElementsOf(error == null ? List.of() : List.of(error));
    }

    @Test
    @Order(Integer.MAX_VALUE) // nothing can be written any more
    void isNotOnRecordAndLeavesNothingWhenTheJournalHasFailed() throws Exception {
        room.responses.journal().fail(new IllegalStateException("planted"));
        assertThat(respond(Way.OF_A_HANDLER)).as("whether it was sent").isFalse();
        assertThat(room.onRecord(JournalQueue.RESPONSES))
                .as("responses on record")
                .isEmpty();
        assertThat(room.called()).as("who was called").isEmpty();
        assertThat(room.leases()).as("leases").isZero();
        assertThat(writer.unwritten()).as("responses that could not be written").isEqualTo(1);
        assertOutcome(ErrorCode.JOURNAL_FAILED);
    }

    @ParameterizedTest(name = "with an error: {0}")
    @ValueSource(booleans = {false, true})
    void isAnErrorInItsPlaceWhenItCanNotBeComposed(boolean isError) throws Exception {
        Tensor tensor = room.tensor();
        Tensor throwing = PublishingRoom.tensorThat(() -> PublishingRoom.throwUnchecked(planted(isError)));
        OutgoingResponse response = new OutgoingResponse();
        response.raw(ByteBuffer.allocate(8), List.of(tensor, throwing));
        ResponseBody body = new ResponseBody();
        body.open(response, 0, ServedBy.NONE, Observations.NO_BYTES);
        body.respondsTo(writer, room.link(), request);
        body.countedBy(counts);
        assertThat(writer.send(body)).as("whether it was sent").isFalse();
        body.close();
        response.reset();
        assertThat(room.onRecord(JournalQueue.RESPONSES))
                .as("responses on record")
                .containsExactly(id + " HANDLER_FAILED");
        assertThat(room.leases()).as("leases").isZero();
        assertOutcome(ErrorCode.HANDLER_FAILED);
    }
}
