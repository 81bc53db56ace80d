package io.waybill.archive;

import static io.waybill.archive.WrittenArchive.QUEUE_FILE;
import static io.waybill.archive.WrittenArchive.bytes;
import static io.waybill.archive.WrittenArchive.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.UnsafeFileException;
import io.waybill.journal.JournalQueue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class ArchiveReaderTest {

    private static final ArchiveWriter.Session ALL = new ArchiveWriter.Session(ArchivePolicy.ALL, 1, 0, Long.MAX_VALUE);

    @TempDir
    Path directory;

    private WrittenArchive archive;

    @BeforeEach
    void begin() throws IOException {
        archive = new WrittenArchive(directory);
    }

    @AfterEach
    void end() {
        archive.close();
    }

    @Test
    void givesWhatWasArchivedWithItsDigest() throws IOException {
        int[] lengths = {0, 1, 63, 64, 65, 4096, 300_000, 1 << 20};
        for (int i = 0; i < lengths.length; i++) {
            archive.append(i, i % 3, bytes(i, lengths[i]));
        }
        try (ArchiveReader reader = archive.reader()) {
            for (int i = 0; i < lengths.length; i++) {
                ArchivedStorage found = find(reader, i, i % 3);
                byte[] expected = bytes(i, lengths[i]);
                CRC32C checksum = new CRC32C();
                checksum.update(expected);
                assertThat(found.isKept()).isTrue();
                assertThat(found.sizeBytes()).isEqualTo(lengths[i]);
                assertThat(found.checksum()).isEqualTo((int) checksum.getValue());
                assertThat(content(reader, found)).isEqualTo(expected);
            }
            assertThat(reader.fileNames(JournalQueue.REQUESTS)).containsExactly(QUEUE_FILE);
            assertThat(reader.fileNames(JournalQueue.RESPONSES)).isEmpty();
        }
    }

    @Test
    void keepsItsFilesToTheOwner() throws IOException {
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(archive.path)))
                .isEqualTo("rw-------");
    }

    @Test
    void saysWhyBytesAreNotThere() throws IOException {
        archive.writer().session(new ArchiveWriter.Session(ArchivePolicy.UP_TO, 1, 100, 4096), 1);
        archive.omit(Omission.TOO_LARGE, 1L << 40, 100);
        archive.writer().gap(Omission.DISK_FULL, 110, 120, 9, 1);
        archive.append(111, 0, bytes(111, 10));
        try (ArchiveReader reader = archive.reader()) {
            ArchivedStorage large = find(reader, 100, 0);
            assertThat(large.omission()).contains(Omission.TOO_LARGE);
            assertThat(large.sizeBytes()).isEqualTo(1L << 40);
            assertThat(large.describe()).isEqualTo("not archived: it is larger than archive.max-storage-bytes");
            assertThat(find(reader, 112, 3).omission()).contains(Omission.DISK_FULL);
            assertThat(find(reader, 111, 0).isKept()).isTrue();
            assertThat(find(reader, 99, 0).omission()).contains(Omission.NOT_KEPT);
            assertThat(find(reader, 130, 0).omission()).contains(Omission.PENDING);
            archive.writer().end(140, 1);
            assertThat(find(reader, 130, 0).omission()).contains(Omission.LOST);
            assertThat(find(reader, 140, 0).omission()).contains(Omission.PENDING);
            archive.writer().session(new ArchiveWriter.Session(ArchivePolicy.NONE, 2, 150, 0), 1);
            assertThat(find(reader, 140, 0).omission()).contains(Omission.LOST);
            assertThat(find(reader, 150, 0).omission()).contains(Omission.NOT_KEPT);
            assertThat(reader.find(JournalQueue.REQUESTS, "20261120-17F.cq4", 1, 0)
                            .omission())
                    .contains(Omission.NO_ARCHIVE);
            assertThatThrownBy(() -> reader.check(JournalQueue.REQUESTS, QUEUE_FILE, large))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("larger than");
        }
    }

    @Test
    void saysThatRecordsWereRemovedAlsoToWhoHadThemOpen() throws IOException {
        archive.writer().session(ALL, 1);
        archive.append(1, 0, bytes(1, 100));
        try (ArchiveReader reader = archive.reader()) {
            ArchivedStorage before = find(reader, 1, 0);
            assertThat(before.isKept()).isTrue();
            ArchiveWriter.removeRecords(
                    archive.files.openOwnNative(archive.path), archive.writer().header());
            assertThat(reader.check(JournalQueue.REQUESTS, QUEUE_FILE, before)).isFalse();
            assertThat(find(reader, 2, 0).omission()).contains(Omission.REMOVED);
            assertThat(find(reader, 1, 0).omission()).contains(Omission.REMOVED);
        }
        assertThat(Files.size(archive.path)).isEqualTo(ArchiveLayout.HEADER_BYTES);
    }

    @Test
    void findsEachOfManyWhileTheyAreWrittenAndAcrossProcesses() throws IOException {
        archive.writer().session(ALL, 1);
        int count = 3 * ArchiveLayout.MAX_ENTRIES + 100;
        try (ArchiveReader reader = archive.reader()) {
            for (int i = 0; i < count; i++) {
                archive.append(i, 0, bytes(i, 40));
                if (i % 700 == 300) {
                    assertThat(find(reader, i, 0).isKept()).isTrue();
                    assertThat(find(reader, i / 2, 0).isKept()).isTrue();
                    archive.reopenWithoutClosing();
                } else if (i % 700 == 600) {
                    archive.reopen();
                }
            }
            for (int i = 0; i < count; i++) {
                assertThat(content(reader, find(reader, i, 0))).isEqualTo(bytes(i, 40));
            }
            assertThat(find(reader, count, 0).omission()).contains(Omission.PENDING);
        }
        try (ArchiveReader late = archive.reader()) {
            assertThat(content(late, find(late, 1, 0))).isEqualTo(bytes(1, 40));
            assertThat(content(late, find(late, count - 1, 0))).isEqualTo(bytes(count - 1, 40));
        }
    }

    @Test
    void readsOnlyAFewRecordsToFindOneOfMany() throws IOException {
        for (int i = 0; i < 40 * ArchiveLayout.MAX_ENTRIES; i++) {
            archive.omit(Omission.TOO_LARGE, 1 << 20, i);
        }
        archive.reopen(); // what was not in an index is now
        try (ArchiveFile file = ArchiveFile.open(archive.path, archive.files)) {
            assertThat(file.find(17, 0)).isPresent();
            assertThat(file.remembered()).isZero();
        }
    }

    @Test
    void givesUpWhatCannotBeRead() throws IOException {
        archive.append(1, 0, bytes(1, 1000));
        byte[] large = bytes(2, 700_000);
        assertThatThrownBy(() -> archive.writer().append(id(2), 2, 0, 0, new WrittenArchive.Given(large, 600_000), 1))
                .isInstanceOf(ArchiveWriter.UnreadableBytesException.class);
        archive.append(3, 0, bytes(3, 1000));
        try (ArchiveReader reader = archive.reader()) {
            assertThat(content(reader, find(reader, 1, 0))).isEqualTo(bytes(1, 1000));
            assertThat(find(reader, 2, 0).isKept()).isFalse();
            assertThat(content(reader, find(reader, 3, 0))).isEqualTo(bytes(3, 1000));
        }
    }

    @Test
    void setsAsideWhatIsNoArchive() throws IOException {
        archive.close();
        Files.write(archive.path, bytes(9, 5000));
        archive.reopenWithoutClosing();
        archive.append(1, 0, bytes(1, 10));
        try (ArchiveReader reader = archive.reader()) {
            assertThat(find(reader, 1, 0).isKept()).isTrue();
        }
        assertThat(archive.path.resolveSibling(archive.path.getFileName() + ".damaged"))
                .hasBinaryContent(bytes(9, 5000));
    }

    @Test
    void refusesAFileThatIsNoneOfOurs() throws IOException {
        archive.close();
        Files.setPosixFilePermissions(archive.path, PosixFilePermissions.fromString("rw-rw-rw-"));
        try (ArchiveReader reader = archive.reader()) {
            assertThatThrownBy(() -> find(reader, 1, 0)).isInstanceOf(UnsafeFileException.class);
        }
        Files.delete(archive.path);
        Files.createSymbolicLink(archive.path, Path.of("/dev/zero"));
        try (ArchiveReader reader = archive.reader()) {
            assertThatThrownBy(() -> find(reader, 1, 0)).isInstanceOf(UnsafeFileException.class);
        }
    }

    @Test
    void isNotKeptBusyByASparseGiant() throws IOException {
        archive.append(1, 0, bytes(1, 10));
        archive.close();
        try (RandomAccessFile file = new RandomAccessFile(archive.path.toFile(), "rw")) {
            file.setLength(ArchiveLayout.MAX_FILE_BYTES);
        }
        List<String> damage = new ArrayList<>();
        try (ArchiveReader reader = archive.reader()) {
            assertThat(find(reader, 1, 0).isKept()).isTrue();
            assertThat(find(reader, 2, 0).isKept()).isFalse();
            reader.scan(JournalQueue.REQUESTS, QUEUE_FILE, storage -> {}, damage::add);
        }
        assertThat(damage).isEmpty(); // nothing but zeros stands behind what was written
        try (RandomAccessFile file = new RandomAccessFile(archive.path.toFile(), "rw")) {
            file.setLength(ArchiveLayout.MAX_FILE_BYTES + 1);
        }
        try (ArchiveReader reader = archive.reader()) {
            assertThatThrownBy(() -> find(reader, 1, 0)).isInstanceOf(UnsafeFileException.class);
        }
    }

    private static ArchivedStorage find(ArchiveReader reader, long sequence, int storage) throws IOException {
        return reader.find(JournalQueue.REQUESTS, QUEUE_FILE, sequence, storage);
    }

    private static byte[] content(ArchiveReader reader, ArchivedStorage storage) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        boolean isTrue = reader.read(JournalQueue.REQUESTS, QUEUE_FILE, storage, piece -> copy(piece, bytes));
        assertThat(isTrue).isTrue();
        return bytes.toByteArray();
    }

    private static void copy(ByteBuffer piece, ByteArrayOutputStream to) {
        byte[] heap = new byte[piece.remaining()];
        piece.get(heap);
        to.writeBytes(heap);
    }
}
