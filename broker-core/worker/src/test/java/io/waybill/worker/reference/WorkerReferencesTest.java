package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.injection.InjectionSettings;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlOutcome;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.id.RRefId;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollTimes;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.Waiting;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** References between a worker's calls and its links, where the worker itself is not there. */
@Timeout(180)
class WorkerReferencesTest {

    private static final int OWNER = 1; // of whom nothing is known here
    private static final ForkData FORK =
            new ForkData(OWNER, new RRefId(OWNER, 12), new ForkId(OWNER, 14), OWNER, 3, "Any");

    @TempDir
    private Path directory;

    private final List<String> notes = new CopyOnWriteArrayList<>();
    private PublishingRoom room;
    private PeerLink link;
    private CallParts calling;
    private WorkerReferences references;

    private final ControlOutcome outcome = new ControlOutcome() {
        @Override
        public void acknowledged() {
            notes.add("acknowledged");
        }

        @Override
        public void failed(ErrorCode code, String text) {
            notes.add("failed: " + code);
        }
    };

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        link = room.link();
        PollContext polling = new PollContext(
                "a", PollTimes.of(Waiting.BALANCED), room.host, room.directory.cursors(), room.directory.doorbell());
        Poller poller = new Poller(polling);
        calling = new CallParts(
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
                                Duration.ofSeconds(60),
                                FlowLimits.defaults(),
                                PublishingRoom.JOURNAL.maxRecordBytes(),
                                false),
                        Duration.ZERO,
                        InjectionSettings.NONE,
                        1),
                room.requests,
                new NotedOutcomes(room.directory.path(), room.host));
        references = new WorkerReferences(room.directory, RRefSettings.DEFAULTS, calling.calls, room.links);
    }

    @AfterEach
    void close() throws IOException {
        references.close();
        room.close();
    }

    /** Returns a response with a table of references. */
    private RecordView response(byte... table) throws Exception {
        MessageBuffer record = new MessageBuffer()
                .begin(
                        MessageType.userRequest(0x42).response().orElseThrow(),
                        MessageId.of(link.id(), 1),
                        link.id(),
                        link.id(),
                        table.length,
                        0)
                .flags(table.length == 0 ? 0 : Envelope.REFERENCES);
        record.payload(table, 0, table.length);
        record.seal(0);
        RecordView view = new RecordView(record);
        view.check();
        return view;
    }

    @Test
    void sendsAControlMessageAsACallAndReportsThatItCouldNotBeSent() throws Exception {
        ControlMessage message = ControlMessage.childAccept(FORK.fork());
        references.send(message, 99, outcome);
        assertThat(notes).as("outcomes of a message to an unknown worker").containsExactly("failed: UNKNOWN_WORKER");
        assertThat(room.onRecord(JournalQueue.REQUESTS)).isEmpty();
        notes.clear();
        references.send(message, link.id(), outcome);
        assertThat(room.onRecord(JournalQueue.REQUESTS))
                .as("requests on record")
                .hasSize(1);
        assertThat(notes).as("outcomes before there is a response").isEmpty();
    }

    @Test
    void refusesTheReferencesOfAResponseWhereItOnlyCalls() throws Exception {
        Links calls = new Links(room.directory, false, PublishingRoom.JOURNAL, room.permit, room.transit);
        WorkerReferences onlyCalls = new WorkerReferences(room.directory, RRefSettings.DEFAULTS, calling.calls, calls);
        try {
            RecordView response = response(ForkTable.encode(List.of(FORK)));
            assertThatExceptionOfType(RejectedMessageException.class)
                    .isThrownBy(() -> onlyCalls.takeResponded(response, link))
                    .withMessageContaining("worker a only calls")
                    .matches(e -> e.code() == ErrorCode.REFUSED, "with the code REFUSED");
            assertThat(onlyCalls.takeResponded(response(), link).held())
                    .as("of a response without any")
                    .isEmpty();
            ReceivedReferences taken = references.takeResponded(response, link);
            assertThat(taken.held()).as("references that one takes that serves").hasSize(1);
            taken.release();
        } finally {
            onlyCalls.close();
            calls.close();
        }
    }

    @Test
    void refusesReferencesThatCanNotBeReadAndGivesNoneBack() throws Exception {
        byte[] table = ForkTable.encode(List.of(FORK));
        table[table.length - 8] = 77; // says that there are more
        RecordView response = response(table);
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> references.takeResponded(response, link))
                .matches(e -> e.code() == ErrorCode.MALFORMED_BODY, "with the code MALFORMED_BODY");
        references.declineResponded(response, link); // does not throw into the thread that polls
        references.declineResponded(response(), link);
        assertThat(references.references().counters().isClean())
                .as("whether no reference is left")
                .isTrue();
    }

    @Test
    void givesNoIdOfAnEarlierIncarnation() throws Exception {
        RRefId first;
        try (WorkerDirectory joined = room.directory.home().join("b")) {
            first = created(joined);
        }
        try (WorkerDirectory again = room.directory.home().join("b")) {
            assertThat(created(again))
                    .as("the first id of the second incarnation")
                    .isNotEqualTo(first);
        }
    }

    private RRefId created(WorkerDirectory by) {
        WorkerReferences of = new WorkerReferences(by, RRefSettings.DEFAULTS, calling.calls, room.links);
        try {
            return of.references().creations().createHere("Any").id();
        } finally {
            of.close();
        }
    }

    @Test
    void handlesTheMessagesOfReferencesUntilItIsClosed() {
        for (MessageType type : List.of(
                MessageType.RREF_USER_DELETE,
                MessageType.RREF_FORK_REQUEST,
                MessageType.RREF_CHILD_ACCEPT,
                MessageType.SCRIPT_RREF_FETCH_CALL)) {
            HandlerEntry entry = references.handlers().table().forKey(new HandlerKey.OfType(type));
            assertThat(entry).as("the handler of %s", type).isNotNull();
            assertThat(entry.neverBlocks())
                    .as("whether %s never blocks the poller", type)
                    .isTrue();
        }
        HandlerEntry list = references.handlers().table().forKey(new HandlerKey.OfControl(ReferenceListing.NAME));
        assertThat(list.executor().hasRoom()).as("room for a listing").isTrue();
        references.close();
        assertThat(list.executor().hasRoom())
                .as("room for a listing once it is closed")
                .isFalse();
        references.ended(OWNER, 3); // dropped
        references.tick();
    }
}
