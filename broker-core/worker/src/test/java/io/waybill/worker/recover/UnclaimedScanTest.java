package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.journal.recover.QueueEvidence;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ten requests of an earlier incarnation to a peer, of which the peer responded to some, and the incarnation read some of these. */
@Timeout(60)
class UnclaimedScanTest {

    private static final int ASKED = 10;
    private static final long FIRST_COUNTER = 100; // of the next incarnation

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private Home home;
    private WorkerDirectory own;
    private WorkerDirectory peer;
    private QueueBeginning beginning; // of requests of which none is lost
    private CursorSlot slot; // for the peer, by this worker

    @BeforeEach
    void open() throws Exception {
        home = Home.open(directory.resolve("home"), host);
        own = home.join("own");
        peer = home.join("peer");
        for (JournalQueue queue : JournalQueue.values()) {
            own.subdirectory(queue.directoryName());
            peer.subdirectory(queue.directoryName());
        }
        beginning = QueueBeginning.find(
                JournalQueue.REQUESTS.in(own.path()),
                WrittenQueue.settings(),
                host,
                UnreservedDisk.by(WrittenQueue::reserve),
                own.epoch(),
                0,
                QueueEvidence.NONE);
        slot = own.cursors().slot(peer.id());
    }

    @AfterEach
    void close() throws IOException {
        peer.close();
        own.close();
    }

    /** Writes requests with the counters from {@code first} to before {@code end}. */
    private void ask(int first, int end, int to) {
        try (WrittenQueue requests = WrittenQueue.open(own.path(), JournalQueue.REQUESTS)) {
            for (int counter = first; counter < end; counter++) {
                requests.append(MessageType.NAMED_CALL, MessageId.of(own.id(), counter), own.id(), to);
            }
        }
    }

    private void respond(int... counters) {
        try (WrittenQueue responses = WrittenQueue.open(peer.path(), JournalQueue.RESPONSES)) {
            for (int counter : counters) {
                responses.append(MessageType.NAMED_RET, MessageId.of(own.id(), counter), peer.id(), own.id());
            }
        }
    }

    private static long first(Path queue) {
        try (JournalTail tail = JournalTail.open(queue, WrittenQueue.settings())) {
            assertThat(tail.poll(new MessageBuffer(), JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
            return tail.lastIndex();
        }
    }

    /** Notes that the earlier incarnation has read so many of the responses. */
    private void read(int responses) {
        slot.responsesIndex(first(JournalQueue.RESPONSES.in(peer.path())) + responses);
    }

    private UnclaimedScan scan(long earlierRequests) {
        return new UnclaimedScan(own, WrittenQueue.settings(), earlierRequests, FIRST_COUNTER, beginning);
    }

    private List<Long> found(UnclaimedScan scan) throws IOException {
        List<Long> counters = new ArrayList<>();
        try (Membership members = Membership.present(home)) {
            List<Peer> peers = new ArrayList<>();
            for (String name : List.of("peer", "other")) {
                members.find(name).ifPresent(peers::add);
            }
            LongStream.of(scan.find(peers)).forEach(id -> {
                assertThat(MessageId.worker(id)).as("the worker of a call").isEqualTo(own.id());
                counters.add(MessageId.counter(id));
            });
        }
        return counters;
    }

    @Test
    void findsRequestsWithoutAResponseAndResponsesThatWereNotRead() throws Exception {
        ask(0, ASKED, peer.id());
        respond(0, 2, 4, 6, 8);
        read(3);
        assertThat(found(scan(ASKED)))
                .as("calls whose outcome was not read, the lowest id first")
                .containsExactly(1L, 3L, 5L, 6L, 7L, 8L, 9L);
    }

    @Test
    void leavesOutRequestsOfThisIncarnationAlsoWhenTheyHaveResponses() throws Exception {
        ask(0, 3, peer.id());
        respond(0);
        read(1);
        UnclaimedScan scan = scan(3);
        ask((int) FIRST_COUNTER, (int) FIRST_COUNTER + 2, peer.id());
        respond((int) FIRST_COUNTER);
        assertThat(found(scan)).as("calls of earlier incarnations").containsExactly(1L, 2L);
    }

    @Test
    void theReadPositionIsThatOfTheTimeWhenItWasMade() throws Exception {
        ask(0, 4, peer.id());
        respond(0, 1, 2);
        read(1);
        UnclaimedScan scan = scan(4);
        read(3); // by this incarnation, since
        assertThat(found(scan))
                .as("calls whose outcome the earlier incarnation had not read")
                .containsExactly(1L, 2L, 3L);
    }

    @Test
    void requestsThatThePeerCompletedAreNotFoundWhateverAnotherPeerCompleted() throws Exception {
        WorkerDirectory other = home.join("other"); // which has completed nothing
        own.cursors().slot(other.id());
        ask(0, ASKED - 1, peer.id());
        ask(ASKED - 1, ASKED, other.id());
        respond(0, 1, 2, 3);
        read(3);
        CursorSlot ofPeer = peer.cursors().slot(own.id());
        ofPeer.requestsCompletedBefore(first(JournalQueue.REQUESTS.in(own.path())) + 4);
        ofPeer.responsesFrom(first(JournalQueue.RESPONSES.in(peer.path())) + 4);
        assertThat(found(scan(ASKED)))
                .as("calls, with the response that is completed and was not read")
                .containsExactly(3L, 4L, 5L, 6L, 7L, 8L, 9L);
        other.close();
    }

    @Test
    void aPeerWhoseResponsesAreGoneHasRespondedToNothing() throws Exception {
        ask(0, 3, peer.id());
        ask(3, 5, peer.id() + 1); // which is not among the peers
        assertThat(found(scan(5))).as("calls to the peer").containsExactly(0L, 1L, 2L);
        respond(0, 1);
        read(2);
        Path responses = JournalQueue.RESPONSES.in(peer.path());
        for (String name : WrittenQueue.rollFiles(responses)) {
            Files.write(responses.resolve(name), new byte[1]);
        }
        assertThat(found(scan(5)))
                .as("calls to a peer whose responses are damaged")
                .containsExactly(0L, 1L, 2L);
    }
}
