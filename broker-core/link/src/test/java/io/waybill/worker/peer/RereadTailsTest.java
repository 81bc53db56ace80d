package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that are read a second time, from the queue of a worker that runs nothing. */
@Timeout(120)
class RereadTailsTest {

    private static final MessageType TYPE = MessageType.userRequest(0x42);

    @TempDir
    private Path directory;

    private final MessageBuffer written = new MessageBuffer();
    private final MessageBuffer buffer = new MessageBuffer();
    private final List<JournalTail> opened = new ArrayList<>();
    private PublishingRoom room;
    private PeerLink link;
    private int id;
    private RereadTails tails;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory.resolve("room"));
        link = room.link();
        id = room.directory.id();
        tails = new RereadTails(id, peer -> {
            JournalTail tail =
                    JournalTail.open(JournalQueue.REQUESTS.in(room.directory.path()), PublishingRoom.JOURNAL);
            opened.add(tail);
            return tail;
        });
    }

    @AfterEach
    void close() throws IOException {
        tails.closeAll();
        room.close();
    }

    /** Appends a request with a number. Returns its position. */
    private long write(long number, int to) throws Exception {
        room.requests.lock();
        try {
            written.begin(TYPE, MessageId.of(id, number), id, to, 0, 0).flags(0);
            room.requests.append(written, room.host.clock().wallNs());
            return room.requests.journal().lastIndex();
        } finally {
            room.requests.unlock();
        }
    }

    private long write(long number) throws Exception {
        return write(number, id);
    }

    private void assertReads(long number, long index) {
        assertThat(tails.read(link, index, buffer))
                .as("whether request %d is read", number)
                .isTrue();
        assertThat(new RecordView(buffer).id())
                .as("the id of request %d", number)
                .isEqualTo(MessageId.of(id, number));
    }

    private static boolean isClosed(JournalTail tail) {
        try {
            tail.moveToStart();
            return false;
        } catch (IllegalStateException e) { // Chronicle's own
            return true;
        }
    }

    @Test
    void readsRequestsInAnyOrderAndLeavesTheFirstTailWhereItIs() throws Exception {
        long first = write(1);
        long second = write(2);
        long third = write(3);
        JournalTail reader = link.reader().requests();
        assertThat(reader.poll(buffer, id)).isEqualTo(Poll.RECORD);
        assertReads(3, third);
        assertReads(1, first);
        assertReads(1, first);
        assertReads(2, second);
        assertThat(reader.nextIndex()).as("the position of the first tail").isEqualTo(second);
        assertThat(opened).as("tails for one peer").hasSize(1);
    }

    @Test
    void saysThatARequestIsNotThere() throws Exception {
        long first = write(1);
        assertThat(tails.read(link, first + 1, buffer))
                .as("behind the last one")
                .isFalse();
        assertThat(tails.read(link, first + (1L << 32), buffer))
                .as("in a file that was never begun")
                .isFalse();
        assertReads(1, first);
        assertReads(2, write(2));
    }

    /** Overwrites bytes of the record of a request, as its sender can at any time. */
    private void damage(long number, int at, byte[] bytes) throws IOException {
        try (Stream<Path> files = Files.list(JournalQueue.REQUESTS.in(room.directory.path()))) {
            Path file = files.filter(each -> each.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
            byte[] all = Files.readAllBytes(file);
            ByteBuffer found = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i + Envelope.HEADER_LENGTH < all.length; i += 4) {
                if (found.getShort(i + Envelope.MAGIC_AT) == Envelope.MAGIC
                        && found.getLong(i + Envelope.ID) == MessageId.of(id, number)) {
                    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
                        open.seek(i + at);
                        open.write(bytes);
                    }
                    return;
                }
            }
        }
        throw new AssertionError("no request " + number);
    }

    @Test
    void saysThatARequestIsDamagedAndReadsTheNextOne() throws Exception {
        long first = write(1);
        long second = write(2);
        assertReads(1, first);
        damage(1, Envelope.MAGIC_AT, new byte[4]);
        assertThat(tails.read(link, first, buffer))
                .as("whether a damaged request is read")
                .isFalse();
        assertReads(2, second);
    }

    @Test
    void readsNoOtherRequestInPlaceOfOneThatIsGoneOrNotForThisWorker() throws Exception {
        long first = write(1);
        write(2);
        long third = write(3, id + 1);
        write(4);
        assertThat(tails.read(link, first - (1L << 32), buffer))
                .as("one whose file was removed")
                .isFalse();
        assertThat(tails.read(link, third, buffer)).as("one for another worker").isFalse();
        assertReads(1, first);
        damage(1, Envelope.TO, new byte[] {77, 0});
        assertThat(tails.read(link, first, buffer))
                .as("one whose receiver was overwritten")
                .isFalse();
    }

    @Test
    void closesTheTailsOfPeersWithoutAWaitingRequest() throws Exception {
        long first = write(1);
        try (IdleLink idle = new IdleLink(directory.resolve("idle"))) {
            link.backlog().unserved().add(first);
            assertReads(1, first);
            assertThat(tails.read(idle.link, first, buffer)).isTrue();
            tails.closeIdle();
            assertThat(isClosed(opened.get(1)))
                    .as("closed, without a waiting request")
                    .isTrue();
            assertReads(1, first);
            assertThat(opened).as("tails, of which one is still open").hasSize(2);
            link.backlog().unserved().remove(first);
            tails.closeIdle();
            assertThat(isClosed(opened.get(0)))
                    .as("closed, when the request no longer waits")
                    .isTrue();
            assertReads(1, first);
            assertThat(opened).as("tails, with one that was opened again").hasSize(3);
        }
    }

    @Test
    void closesTheTailOfOnePeerOrAllOfThem() throws Exception {
        long first = write(1);
        try (IdleLink idle = new IdleLink(directory.resolve("idle"))) {
            tails.close(link); // it has none
            assertReads(1, first);
            assertThat(tails.read(idle.link, first, buffer)).isTrue();
            tails.close(link);
            assertThat(opened)
                    .extracting(RereadTailsTest::isClosed)
                    .as("closed")
                    .containsExactly(true, false);
            assertReads(1, first);
            tails.closeAll();
            assertThat(opened)
                    .extracting(RereadTailsTest::isClosed)
                    .as("closed")
                    .containsOnly(true);
        }
    }
}
