package io.waybill.journal.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Boots;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.host.WatchedSyncs;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.journal.append.QueueSync;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Power cuts, as images of what a disk may then hold. A real journal writes and syncs; from each history several images are made and
 * recovered. {@code -Dwaybill.seed=N} runs the history of that seed alone, {@code -Dwaybill.power.histories=N} more of them.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class PowerTest {

    private static final JournalSettings SETTINGS =
            new JournalSettings(Roll.MINUTELY, 1 << 20, 64 << 10, 1 << 20).withFileBytes(1 << 20);
    private static final int IMAGES = 8;
    private static final int WORKER = 3;
    private static final long MINUTE_NS = 60_000_000_000L;
    private static final long START_NS = 30_000_000 * MINUTE_NS;

    @TempDir
    Path temporary;

    @Tag("ci")
    @Test
    void leavesAPrefixThatHasAllThatWasSynced() throws IOException {
        long first = Long.getLong("waybill.power.first", 0);
        int histories = Integer.getInteger("waybill.power.histories", 6);
        for (long seed : Seeds.count(first, histories).toArray()) {
            cutThePowerOf(seed);
        }
    }

    /** The newer file was written to the disk before the end of the older one was. */
    @Test
    void endsBeforeTheRecordsThatOneOfTwoFilesHasLost() throws IOException {
        Path queue = writeFiles("end-lost", 60);
        List<Path> files = queueFiles(queue);
        RecordPosition first = positionOf(queue, 20);
        assertThat(first.fileName()).isEqualTo(files.get(0).getFileName().toString());
        clear(files.get(0), first.offset());
        assertEndsBefore(queue, 20);
    }

    @Test
    void endsBeforeAFileThatIsGone() throws IOException {
        Path queue = writeFiles("file-lost", 120);
        List<Path> files = queueFiles(queue);
        int inFirst = 0;
        while (positionOf(queue, inFirst)
                .fileName()
                .equals(files.get(0).getFileName().toString())) {
            inFirst++;
        }
        Files.delete(files.get(1));
        byte[] behind = Files.readAllBytes(files.get(2));
        assertEndsBefore(queue, inFirst);
        assertThat(files.get(2).resolveSibling(files.get(2).getFileName() + PowerCut.SET_ASIDE))
                .as("a file behind the gap, set aside")
                .hasBinaryContent(behind);
    }

    /** Ids that were given may stand in records of which nothing is left. */
    @Test
    void givesNoIdAgainThatALostRecordMayHaveHad() throws IOException {
        Path queue = writeFiles("ids-lost", 60);
        List<Path> files = queueFiles(queue);
        for (Path file : files.subList(1, files.size())) {
            Files.delete(file);
        }
        QueueBeginning beginning = QueueBeginning.find(
                queue,
                SETTINGS,
                in(WrittenQueue.HOST, "second"),
                UnreservedDisk.by(PowerTest::reserve),
                2,
                -1,
                QueueEvidence.NONE);
        assertThat(beginning.firstCounter())
                .as("the counter after those of lost records")
                .isGreaterThan(1L << 32);
    }

    private Path writeFiles(String name, int records) throws IOException {
        Path queue = JournalQueue.REQUESTS.in(temporary.resolve(name));
        makePrivate(queue);
        try (Journal journal = open(queue, in(WrittenQueue.HOST, "first"), 1, -1)) {
            MessageBuffer buffer = new MessageBuffer();
            for (int i = 0; i < records; i++) {
                append(journal, buffer, 1, i, 30_000);
            }
        }
        return queue;
    }

    private static List<Path> queueFiles(Path queue) {
        return WrittenQueue.rollFiles(queue).stream().map(queue::resolve).toList();
    }

    private static RecordPosition positionOf(Path queue, long sequence) throws IOException {
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), SETTINGS)) {
            while (reader.next() == Step.RECORD) {
                if (reader.record().sequence() == sequence) {
                    return reader.position();
                }
            }
        }
        throw new AssertionError("no record " + sequence);
    }

    /** From there on the file is as if nothing had been written. */
    private static void clear(Path file, long from) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        Arrays.fill(bytes, (int) from, bytes.length, (byte) 0);
        Files.write(file, bytes);
    }

    private static void assertEndsBefore(Path queue, int lost) throws IOException {
        try (Journal journal = open(queue, in(WrittenQueue.HOST, "second"), 2, -1)) {
            assertThat(journal.size())
                    .as("the number of the next record, when %d is the first that the power cut took", lost)
                    .isEqualTo(lost);
            append(journal, new MessageBuffer(), 1, lost, 100);
        }
        List<Long> left = new ArrayList<>();
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), SETTINGS)) {
            while (reader.next() == Step.RECORD) {
                left.add(reader.record().sequence());
            }
        }
        assertThat(left)
                .as("numbers of the records that are left, with one that was appended since")
                .isEqualTo(LongStream.rangeClosed(0, lost).boxed().toList());
    }

    private void cutThePowerOf(long seed) throws IOException {
        try {
            History history = new History(temporary.resolve("history" + seed), seed);
            history.write();
            for (int image = 0; image < IMAGES; image++) {
                history.recover(temporary.resolve("image" + seed + "-" + image), seed * IMAGES + image);
            }
            DirectoryTree.remove(history.worker);
        } catch (IOException | RuntimeException | AssertionError e) {
            throw new AssertionError(Seeds.option(seed) + ": " + e.getMessage(), e);
        }
    }

    private static void makePrivate(Path directory) throws IOException {
        Files.createDirectories(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    private static void reserve(Path file, long offset, long length) throws IOException {
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            Files.createFile(
                    file,
                    PosixFilePermissions.asFileAttribute(Set.copyOf(PosixFilePermissions.fromString("rw-------"))));
        }
    }

    private static Host in(Host host, String boot) {
        return Boots.in(host, boot).withClock(WrittenQueue.clockAt(START_NS));
    }

    private static Journal open(Path queue, Host host, long epoch, long onDiskBefore) throws IOException {
        try {
            QueueBeginning beginning = QueueBeginning.find(
                    queue,
                    SETTINGS,
                    host,
                    UnreservedDisk.by(PowerTest::reserve),
                    epoch,
                    onDiskBefore,
                    QueueEvidence.NONE);
            return JournalOpener.open(queue, SETTINGS, host.clock(), UnreservedDisk.by(PowerTest::reserve), beginning);
        } catch (JournalFullException e) {
            throw new IOException(e);
        }
    }

    /** A record as it was written: its id is made of its sequence, its payload of that and the history's seed. */
    private static void append(Journal journal, MessageBuffer buffer, long seed, long sequence, int length)
            throws IOException {
        byte[] payload = new byte[length];
        new Random(seed * 1_000_003 + sequence).nextBytes(payload);
        try {
            journal.append(
                    buffer.begin(
                                    MessageType.NAMED_CALL,
                                    MessageId.of(WORKER, sequence),
                                    WORKER,
                                    WORKER + 1,
                                    payload.length,
                                    0)
                            .sentNs(START_NS + sequence)
                            .payload(payload, 0, payload.length),
                    START_NS);
        } catch (JournalFullException e) {
            throw new IOException(e);
        }
    }

    private static final class History {
        private final Path worker;
        private final Path queue;
        private final long seed;
        private final Random random;
        private final MessageBuffer buffer = new MessageBuffer();
        private final List<Integer> lengths = new ArrayList<>();
        private final List<Long> indexes = new ArrayList<>();
        private CrashImages images;
        private int synced; // records
        private long mark = -1;

        History(Path worker, long seed) throws IOException {
            this.worker = worker;
            this.queue = JournalQueue.REQUESTS.in(worker);
            this.seed = seed;
            this.random = new Random(seed);
            makePrivate(queue);
        }

        void write() throws IOException {
            images = new CrashImages(queue);
            Host host = in(WatchedSyncs.host(images::synced), "first");
            boolean syncs = seed % 4 != 3;
            JournalSettings settings = syncs ? SETTINGS.withDurability(Durability.INTERVAL) : SETTINGS;
            try (Journal journal = openFirst(settings, host);
                    QueueSync sync = syncs ? QueueSync.open(journal, host.files(), SETTINGS.roll(), -1) : null) {
                int records = 1 + random.nextInt(400);
                int largest = random.nextInt(3) == 0 ? 30_000 : 300;
                for (int i = 0; i < records; i++) {
                    int length = random.nextInt(largest);
                    append(journal, buffer, seed, i, length);
                    lengths.add(length);
                    indexes.add(journal.lastIndex());
                    if (random.nextInt(20) == 0) {
                        images.look();
                    }
                    if (syncs && random.nextInt(40) == 0 && sync.begin()) {
                        images.look();
                        sync.sync();
                        synced = i + 1;
                        mark = sync.onDiskBefore();
                    }
                }
                images.look();
            }
        }

        private Journal openFirst(JournalSettings settings, Host host) throws IOException {
            try {
                QueueBeginning beginning = QueueBeginning.find(
                        queue, settings, host, UnreservedDisk.by(PowerTest::reserve), 1, -1, QueueEvidence.NONE);
                return JournalOpener.open(
                        queue, settings, host.clock(), UnreservedDisk.by(PowerTest::reserve), beginning);
            } catch (JournalFullException e) {
                throw new IOException(e);
            }
        }

        void recover(Path image, long imageSeed) throws IOException {
            Path cut = JournalQueue.REQUESTS.in(image);
            makePrivate(cut);
            images.write(cut, imageSeed);
            Random choice = new Random(imageSeed);
            // the page of the cursors that says so may be older than the sync
            long known = choice.nextInt(3) == 0 ? -1 : mark;
            Host second = in(WrittenQueue.HOST, "second");
            int kept = goOn(cut, second, known);
            assertThat(kept).as("records left of " + lengths.size()).isGreaterThanOrEqualTo(synced);
            check(cut, kept, 3, choice);
            // in the same boot nothing is lost any more
            open(cut, second, 3, known).close();
            check(cut, kept, 3, choice);
            // and again, when nothing was synced since
            try (Journal journal = open(cut, in(WrittenQueue.HOST, "third"), 4, known)) {
                assertThat(journal.size()).isEqualTo(kept + 3);
            }
            DirectoryTree.remove(image);
        }

        /** Opens a queue in another boot and appends three. Returns how many there were. */
        private int goOn(Path cut, Host host, long known) throws IOException {
            try (Journal journal = open(cut, host, 2, known)) {
                int kept = (int) journal.size();
                try (JournalTail early = JournalTail.open(cut, SETTINGS)) {
                    early.moveTo(indexes.get(indexes.size() - 1) + 1); // where a peer was that had read all
                    for (int i = 0; i < 3; i++) {
                        append(journal, buffer, seed, kept + i, 100);
                        assertThat(journal.lastIndex())
                                .as("a place that was never given before")
                                .isGreaterThan(indexes.get(indexes.size() - 1));
                    }
                    checkTail(early, kept, kept, 3);
                }
                return kept;
            }
        }

        private void check(Path cut, int kept, int more, Random choice) throws IOException {
            List<Long> positions = new ArrayList<>();
            try (QueueReader reader = QueueReader.open(cut, WrittenQueue.HOST.files(), SETTINGS)) {
                Step step = reader.next();
                while (step != Step.END || (step = reader.searchBehindEnd()) == Step.DAMAGED) {
                    assertThat(step).as(() -> String.valueOf(reader.damage())).isEqualTo(Step.RECORD);
                    requireRecord(reader.record(), positions.size(), kept);
                    positions.add(reader.index());
                    step = reader.next();
                }
            }
            assertThat(positions).hasSize(kept + more);
            assertThat(positions.subList(0, kept)).isEqualTo(indexes.subList(0, kept));
            try (JournalTail tail = JournalTail.open(cut, SETTINGS)) {
                checkTail(tail, 0, kept, more);
                for (int i = 0; i < 8; i++) {
                    int from = choice.nextInt(positions.size());
                    assertThat(tail.moveTo(positions.get(from))).isTrue();
                    checkTail(tail, from, kept, more);
                }
                if (kept < indexes.size()) { // a peer remembers a place that is gone
                    tail.moveTo(indexes.get(kept + choice.nextInt(indexes.size() - kept)));
                    checkTail(tail, kept, kept, more);
                }
            }
        }

        private void checkTail(JournalTail tail, int from, int kept, int more) {
            MessageBuffer read = new MessageBuffer();
            RecordView view = new RecordView(read);
            int sequence = from;
            Poll poll = tail.poll(read, JournalTail.ANY_RECEIVER);
            while (poll != Poll.NONE) {
                assertThat(poll).as(tail::damage).isEqualTo(Poll.RECORD);
                requireRecord(view, sequence, kept);
                sequence++;
                poll = tail.poll(read, JournalTail.ANY_RECEIVER);
            }
            assertThat(sequence).as("read by a tailer from " + from).isEqualTo(kept + more);
        }

        private void requireRecord(RecordView record, int sequence, int kept) {
            assertThat(record.sequence()).isEqualTo(sequence);
            assertThat(record.id()).isEqualTo(MessageId.of(WORKER, sequence));
            int length = sequence < kept ? lengths.get(sequence) : 100;
            assertThat(record.payloadLength()).isEqualTo(length);
            byte[] payload = new byte[length];
            new Random(seed * 1_000_003 + sequence).nextBytes(payload);
            byte[] found = new byte[length];
            record.buffer().memory().getBytes(Envelope.HEADER_LENGTH, found);
            assertThat(found).isEqualTo(payload);
        }
    }
}
