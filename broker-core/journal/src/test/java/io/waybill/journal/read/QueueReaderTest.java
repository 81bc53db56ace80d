package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Clock;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.Frame;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class QueueReaderTest {

    private static final int RECORDS = 1000;

    @TempDir
    Path worker;

    private Path directory() {
        return JournalQueue.REQUESTS.in(worker);
    }

    private QueueReader open() {
        return QueueReader.open(directory(), WrittenQueue.HOST.files(), WrittenQueue.settings());
    }

    private void write(int records) {
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, records).close();
    }

    private Path file() throws IOException {
        try (var files = Files.list(directory())) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Reads to the end, with a look behind it; adds damage to the list. */
    private List<Long> counters(QueueReader reader, List<Damage> damages) throws IOException {
        List<Long> counters = new ArrayList<>();
        while (true) {
            Step step = reader.next();
            if (step == Step.END) {
                step = reader.searchBehindEnd();
                if (step == Step.END) {
                    return counters;
                }
            }
            if (step == Step.DAMAGED) {
                damages.add(reader.damage());
            } else {
                long id = reader.record().id();
                assertThat(reader.record().copyPayload()).isEqualTo(WrittenQueue.payloadOf(id));
                counters.add(MessageId.counter(id));
            }
        }
    }

    private RecordPosition positionOf(long counter) throws IOException {
        try (QueueReader reader = open()) {
            while (reader.next() == Step.RECORD) {
                if (MessageId.counter(reader.record().id()) == counter) {
                    return reader.position();
                }
            }
        }
        throw new AssertionError("no record " + counter);
    }

    private void change(long at, int mask) throws IOException {
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer word = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
            channel.read(word, at);
            word.putInt(0, word.getInt(0) ^ mask).rewind();
            channel.write(word, at);
        }
    }

    private void assertLost(long first, long end) throws IOException {
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            List<Long> counters = counters(reader, damages);
            assertThat(damages).hasSize(1);
            assertThat(counters).hasSize(RECORDS - (int) (end - first));
            assertThat(counters).doesNotContain(first, end - 1);
            assertThat(counters).isSorted();
        }
    }

    @Test
    void readsWhatWasWrittenInItsOrder() throws IOException {
        write(RECORDS);
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            assertThat(counters(reader, damages)).hasSize(RECORDS).isSorted();
        }
        assertThat(damages).isEmpty();
    }

    @Test
    void givesTheIndexThatATailMovesTo() throws IOException {
        write(RECORDS);
        RecordPosition position = positionOf(777);
        try (JournalTail tail = JournalTail.open(directory(), WrittenQueue.settings())) {
            var buffer = new io.waybill.wire.MessageBuffer();
            assertThat(tail.moveTo(position.index())).isTrue();
            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
            assertThat(MessageId.counter(new io.waybill.wire.RecordView(buffer).id()))
                    .isEqualTo(777);
        }
    }

    @Test
    void readsOnWhenTheWriterGoesOn() throws IOException {
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            assertThat(reader.next()).isEqualTo(Step.END);
            try (WrittenQueue queue = WrittenQueue.open(worker, JournalQueue.REQUESTS)) {
                for (int round = 0; round < 50; round++) {
                    queue.requests(round * 37, round * 37 + 37);
                    assertThat(counters(reader, damages)).hasSize(37);
                }
            }
        }
        assertThat(damages).isEmpty();
    }

    @Test
    void readsAcrossFiles() throws IOException {
        Clock now = WrittenQueue.HOST.clock();
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            int written = 0;
            for (int hour = 0; hour < 4; hour++) {
                long atNs = now.wallNs() + hour * 24 * 3_600_000_000_000L;
                try (WrittenQueue queue = WrittenQueue.openAt(directory(), WrittenQueue.settings(), atNs)) {
                    queue.requests(written, written + 100);
                    written += 100;
                }
                assertThat(counters(reader, damages)).hasSize(100);
            }
        }
        try (QueueReader reader = open()) {
            assertThat(counters(reader, damages)).hasSize(400).isSorted();
        }
        assertThat(damages).isEmpty();
    }

    @Test
    void movesToAPlaceAndReadsOnFromThere() throws IOException {
        write(RECORDS);
        RecordPosition position = positionOf(500);
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            assertThat(reader.moveTo(position)).isTrue();
            List<Long> counters = counters(reader, damages);
            assertThat(counters).hasSize(RECORDS - 500).startsWith(500L, 501L);
        }
        assertThat(damages).isEmpty();
    }

    @Test
    void reportsABitFlippedInAPayload() throws IOException {
        write(RECORDS);
        change(positionOf(400).offset() + 4 + Envelope.HEADER_LENGTH, 8);
        assertLost(400, 401);
    }

    @Test
    void reportsABitFlippedInAHeader() throws IOException {
        write(RECORDS);
        change(positionOf(400).offset() + 4 + Envelope.ID, 1);
        assertLost(400, 401);
    }

    @Test
    void findsTheNextRecordBehindALengthThatLies() throws IOException {
        write(RECORDS);
        change(positionOf(400).offset(), 1 << 20);
        assertLost(400, 401);
    }

    /** As a sector of another place has one: its length leads into the zeros of a record that lies behind. */
    @Test
    void findsTheNextRecordBehindAHeaderThatLies() throws IOException {
        write(RECORDS);
        long at = positionOf(400).offset();
        long zeros = positionOf(402).offset() + Frame.LENGTH + Envelope.DEADLINE;
        int payload = (int) (zeros - at) - Frame.LENGTH - Envelope.HEADER_LENGTH;
        int length = WrittenQueue.payloadOf(MessageId.of(WrittenQueue.WORKER, 400)).length;
        change(at, Envelope.HEADER_LENGTH + payload ^ Envelope.HEADER_LENGTH + length);
        change(at + Frame.LENGTH + Envelope.PAYLOAD_LENGTH, payload ^ length);
        assertLost(400, 401);
    }

    /** The payload is a file of another queue, with its frames, and ends where that one's record ends. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void takesNothingInsideADamagedRecordForARecord(boolean isLast) throws IOException {
        write(3);
        byte[] other;
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.READ)) {
            long from = positionOf(1).offset();
            ByteBuffer bytes = ByteBuffer.allocate((int) (positionOf(2).offset() - from));
            channel.read(bytes, from);
            other = bytes.array();
        }
        try (WrittenQueue queue = WrittenQueue.open(worker, JournalQueue.REQUESTS)) {
            byte[] payload = new byte[8 + other.length];
            System.arraycopy(other, 0, payload, 8, other.length);
            queue.append(new MessageBuffer()
                    .begin(
                            MessageType.NAMED_CALL,
                            MessageId.of(WrittenQueue.WORKER, 3),
                            WrittenQueue.WORKER,
                            WrittenQueue.PEER,
                            payload.length,
                            0)
                    .sentNs(1)
                    .payload(payload, 0, payload.length));
            queue.requests(4, isLast ? 4 : 6);
        }
        long damaged = 0;
        try (QueueReader reader = open()) {
            for (int i = 0; i < 4; i++) {
                assertThat(reader.next()).isEqualTo(Step.RECORD);
                damaged = reader.offset();
            }
        }
        change(damaged + Frame.LENGTH + Envelope.HEADER_LENGTH, 8);
        try (QueueReader reader = open()) {
            assertThat(counters(reader, new ArrayList<>()))
                    .isEqualTo(isLast ? List.of(0L, 1L, 2L) : List.of(0L, 1L, 2L, 4L, 5L));
        }
    }

    @Test
    void findsTheNextRecordBehindAFrameThatSeemsUnfinished() throws IOException {
        write(RECORDS);
        change(positionOf(400).offset(), 1 << 31);
        assertLost(400, 401);
    }

    @Test
    void reportsARecordThatIsMarkedAsTheQueuesOwn() throws IOException {
        write(RECORDS);
        change(positionOf(400).offset(), 1 << 30);
        assertLost(400, 401);
    }

    @Test
    void countsIndexesAgainBehindADamage() throws IOException {
        write(RECORDS);
        RecordPosition behind = positionOf(403);
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
            long at = positionOf(400).offset();
            channel.write(ByteBuffer.allocate((int) (positionOf(402).offset() + 40 - at)), at);
        }
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            List<Long> counters = counters(reader, damages);
            assertThat(counters).hasSize(RECORDS - 3);
        }
        assertThat(damages).hasSize(1);
        assertThat(placeAfterDamage()).isEqualTo(behind);
    }

    private RecordPosition placeAfterDamage() throws IOException {
        try (QueueReader reader = open()) {
            while (reader.next() == Step.RECORD) {
                // up to the hole
            }
            assertThat(reader.searchBehindEnd()).isEqualTo(Step.DAMAGED);
            assertThat(reader.next()).isEqualTo(Step.RECORD);
            return reader.position();
        }
    }

    @Test
    void reportsAFileThatWasCut() throws IOException {
        write(RECORDS);
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
            channel.truncate(positionOf(600).offset() + 50);
        }
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            assertThat(counters(reader, damages)).hasSize(600);
            assertThat(reader.next()).isEqualTo(Step.END);
        }
        assertThat(damages).hasSize(1);
    }

    @Test
    @Timeout(value = 10, unit = TimeUnit.SECONDS)
    void saysWhatLiesWhereAFileBelongsAndGoesOn() throws Exception {
        write(RECORDS);
        assertThat(new ProcessBuilder(
                                "mkfifo",
                                directory().resolve(Roll.DAILY.fileName(1)).toString())
                        .start()
                        .waitFor())
                .isZero();
        Files.createSymbolicLink(directory().resolve(Roll.DAILY.fileName(2)), Path.of("/dev/zero"));
        Files.createDirectory(directory().resolve(Roll.DAILY.fileName(3)));
        List<Damage> damages = new ArrayList<>();
        try (QueueReader reader = open()) {
            assertThat(counters(reader, damages)).hasSize(RECORDS);
        }
        assertThat(damages).extracting(Damage::text).hasSize(3).allMatch(text -> text.contains("a regular file"));
    }
}
