package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pages that a helper fills with zeros, and brings into memory, ahead of a writer that goes on meanwhile. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class FilledPagesTest {

    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, 64 << 20, 64 << 10, 8 << 20);
    private static final int PAYLOAD_BYTES = 1_000;
    private static final int RECORDS = 100_000;

    @TempDir
    Path worker;

    private final SafeFiles files = WrittenQueue.HOST.files();
    private final MessageBuffer written = new MessageBuffer();
    private final AtomicBoolean filledAny = new AtomicBoolean();
    private final AtomicLong reservedTo = new AtomicLong();
    private Path directory;

    /** On a real disk, as a worker's. */
    private final class Space extends UnreservedDisk {
        @Override
        public void reserve(Path file, long offset, long length) throws IOException {
            try (NativeFile opened = files.openOwnNative(file)) {
                opened.reserve(offset, length);
            }
            reservedTo.set(offset + length);
        }

        @Override
        public void fill(Path file, long offset, long length) throws IOException {
            try (NativeFile opened = files.openOwnNative(file)) {
                opened.writeZeros(offset, length);
            }
            filledAny.set(true);
        }
    }

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectory(JournalQueue.REQUESTS.in(worker));
    }

    private void append(Journal journal, long counter) throws JournalFullException {
        byte[] payload = new byte[PAYLOAD_BYTES];
        journal.append(
                written.begin(MessageType.NAMED_CALL, MessageId.of(1, counter), 1, 2, payload.length, 0)
                        .payload(payload, 0, payload.length),
                WrittenQueue.HOST.clock().wallNs());
    }

    private int readAll() {
        MessageBuffer read = new MessageBuffer();
        int records = 0;
        try (JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            while (tail.poll(read, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                assertThat(new RecordView(read).id()).isEqualTo(MessageId.of(1, records));
                records++;
            }
        }
        return records;
    }

    @Test
    void neverCoverWhatIsWrittenMeanwhile() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        try (Journal journal = JournalOpener.open(directory, SETTINGS, WrittenQueue.HOST.clock(), new Space())) {
            append(journal, 0);
            CompletableFuture<Void> helper = CompletableFuture.runAsync(() -> {
                while (!done.get()) {
                    fillAll(journal);
                }
            });
            for (int i = 1; i < RECORDS; i++) {
                append(journal, i);
            }
            done.set(true);
            helper.get(30, TimeUnit.SECONDS);
        }
        assertThat(filledAny).isTrue();
        assertThat(readAll()).isEqualTo(RECORDS);
    }

    private static void fillAll(Journal journal) {
        try {
            Touchable block = journal.touchable();
            journal.topUp();
            journal.fill(block, block.end());
        } catch (IOException | JournalFullException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void leaveAnotherFileThanTheBlocksAlone() throws Exception {
        try (Journal journal = JournalOpener.open(directory, SETTINGS, WrittenQueue.HOST.clock(), new Space())) {
            append(journal, 0);
            Touchable block = journal.touchable();
            Touchable ofAnother = new Touchable(directory.resolve("19700101.cq4"), block.baseAddress(), block.end());

            journal.fill(ofAnother, block.end());
            assertThat(filledAny).isFalse();
            assertThat(ofAnother.file()).doesNotExist();

            journal.fill(block, block.end());
            assertThat(filledAny).isTrue();
        }
        assertThat(readAll()).isEqualTo(1);
    }

    @Test
    void areTouchedAsFarAsTheyAreReserved() throws Exception {
        try (Journal journal = JournalOpener.open(directory, SETTINGS, WrittenQueue.HOST.clock(), new Space())) {
            append(journal, 0);
            Touchable block = journal.touchable();
            assertThat(reservedTo.get()).isLessThan(block.end());
            List<Long> touched = new ArrayList<>();

            long end = journal.touch(block, 0, block.end(), (from, to) -> {
                touched.add(from);
                assertThat(to - from).isBetween(1L, 1L << 20);
            });

            assertThat(end).isEqualTo(reservedTo.get());
            assertThat(touched).hasSize((int) ((end + (1 << 20) - 1) >> 20)).startsWith(0L, 1L << 20);
        }
    }

    @Test
    void areNotTouchedInAFileThatWasLeft() throws Exception {
        JournalSettings small = SETTINGS.withFileBytes(JournalSettings.FILE_BYTES_MIN);
        try (Journal journal = JournalOpener.open(directory, small, WrittenQueue.HOST.clock(), new Space())) {
            append(journal, 0);
            Touchable block = journal.touchable();
            for (int i = 1; journal.touchable().file().equals(block.file()); i++) {
                append(journal, i);
            }
            journal.topUp(); // gives back what the first file does not need
            assertThat(journal.touch(block, 0, block.end(), (from, to) -> fail("touched: " + from)))
                    .isZero();
        }
    }
}
