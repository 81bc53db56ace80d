package io.waybill.archive;

import static io.waybill.archive.WrittenArchive.QUEUE_FILE;
import static io.waybill.archive.WrittenArchive.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Seeds;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whatever happens to an archive file: what it gives is what was written, or it says that something is wrong. */
@Timeout(300)
class ArchiveDamageTest {

    /** Of the storages in the file under attack. */
    private static final int[] LENGTHS = {100, 0, 64, 600, 1, 300};

    private static final int OMITTED = LENGTHS.length;

    @TempDir
    Path directory;

    private final SafeFiles files = Host.real().files();
    private Path path;
    private byte[] whole;

    @BeforeEach
    void write() throws IOException {
        try (WrittenArchive archive = new WrittenArchive(directory)) {
            path = archive.path;
            archive.writer().session(new ArchiveWriter.Session(ArchivePolicy.ALL, 1, 0, Long.MAX_VALUE), 1);
            for (int i = 0; i < LENGTHS.length; i++) {
                archive.append(i, 0, bytes(i, LENGTHS[i]));
                if (i == 2) {
                    archive.reopen(); // which writes an index record
                }
            }
            archive.omit(Omission.QUOTA, 77, OMITTED);
        }
        whole = Files.readAllBytes(path);
    }

    /** What a reader makes of the file: each storage in words, and its bytes. */
    private record Seen(List<String> storages, boolean reportsDamage) {}

    private Seen look() throws IOException {
        List<String> storages = new ArrayList<>();
        List<String> damage = new ArrayList<>();
        try (ArchiveReader reader = ArchiveReader.open(directory, files)) {
            for (int i = 0; i <= OMITTED; i++) {
                ArchivedStorage found = reader.find(JournalQueue.REQUESTS, QUEUE_FILE, i, 0);
                ByteArrayOutputStream content = new ByteArrayOutputStream();
                boolean isTrue = !found.isKept()
                        || reader.read(JournalQueue.REQUESTS, QUEUE_FILE, found, piece -> {
                            byte[] heap = new byte[piece.remaining()];
                            piece.get(heap);
                            content.writeBytes(heap);
                        });
                boolean isDamaged = !isTrue
                        || found.omission().filter(Omission.DAMAGED::equals).isPresent();
                storages.add(isDamaged ? "damaged" : found.describe() + " " + Arrays.hashCode(content.toByteArray()));
            }
            reader.scan(JournalQueue.REQUESTS, QUEUE_FILE, storage -> {}, damage::add);
        }
        return new Seen(storages, !damage.isEmpty());
    }

    @Test
    void noticesAFlippedBitInEveryByte() throws IOException {
        Seen untouched = look();
        assertThat(untouched.storages()).noneMatch("damaged"::equals);
        assertThat(untouched.reportsDamage()).isFalse();
        for (int at = 0; at < whole.length; at++) {
            flip(untouched, at, at % 8);
        }
    }

    @Test
    @Tag("slow")
    void noticesEveryFlippedBit() throws IOException {
        Seen untouched = look();
        for (int at = 0; at < whole.length; at++) {
            for (int bit = 0; bit < 8; bit++) {
                flip(untouched, at, bit);
            }
        }
    }

    private void flip(Seen untouched, int at, int bit) throws IOException {
        byte[] flipped = whole.clone();
        flipped[at] ^= (byte) (1 << bit);
        Files.write(path, flipped);
        requireTrueOrReported(untouched, look(), "bit " + bit + " of byte " + at);
    }

    @Test
    void noticesZeroedAndSwappedBlocks() throws IOException {
        Seen untouched = look();
        int block = 512;
        for (int at = 0; at + block <= whole.length; at += block) {
            byte[] zeroed = whole.clone();
            Arrays.fill(zeroed, at, at + block, (byte) 0);
            Files.write(path, zeroed);
            requireTrueOrReported(untouched, look(), "zeros at " + at);
            for (int other = at + block; other + block <= whole.length; other += block) {
                byte[] swapped = whole.clone();
                System.arraycopy(whole, at, swapped, other, block);
                System.arraycopy(whole, other, swapped, at, block);
                Files.write(path, swapped);
                requireTrueOrReported(untouched, look(), "blocks at " + at + " and " + other + " swapped");
            }
        }
    }

    private static void requireTrueOrReported(Seen expected, Seen seen, String how) {
        for (int i = 0; i < seen.storages().size(); i++) {
            assertThat(seen.storages().get(i))
                    .as("storage %d with %s", i, how)
                    .isIn(expected.storages().get(i), "damaged");
        }
    }

    @Test
    void goesOnBehindEveryTornTail() throws IOException {
        Seen untouched = look();
        for (int length = 0; length < whole.length; length++) {
            Files.write(path, Arrays.copyOf(whole, length));
            requireOnlyTheEndIsMissing(untouched, look(), length);
            try (WrittenArchive archive = new WrittenArchive(directory)) {
                archive.append(100, 0, bytes(100, 333));
            }
            try (ArchiveReader reader = ArchiveReader.open(directory, files)) {
                ArchivedStorage late = reader.find(JournalQueue.REQUESTS, QUEUE_FILE, 100, 0);
                assertThat(late.isKept())
                        .as("what was written behind %d bytes", length)
                        .isTrue();
                assertThat(reader.check(JournalQueue.REQUESTS, QUEUE_FILE, late))
                        .isTrue();
            }
            requireOnlyTheEndIsMissing(untouched, look(), length);
            Files.deleteIfExists(path.resolveSibling(path.getFileName() + ".damaged"));
        }
    }

    /** Each storage whose bytes were all there before is there still, and the others are told not to be. */
    private void requireOnlyTheEndIsMissing(Seen expected, Seen seen, int length) throws IOException {
        boolean isMissing = false;
        for (int i = 0; i < seen.storages().size(); i++) {
            boolean isThere = seen.storages().get(i).equals(expected.storages().get(i));
            isMissing |= !isThere;
            assertThat(isThere)
                    .as("storage %d, cut at %d of %d: %s", i, length, whole.length, seen.storages())
                    .isEqualTo(!isMissing);
        }
        if (length > whole.length - 100) {
            assertThat(isMissing).isFalse(); // only index records stand there
        }
    }

    @Test
    void findsItsWayThroughRandomBytes() throws IOException {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        for (int run = 0; run < 300; run++) {
            byte[] bytes = whole.clone();
            int from = random.nextInt(bytes.length);
            int length = 1 + random.nextInt(bytes.length - from);
            byte[] noise = new byte[length];
            random.nextBytes(noise);
            System.arraycopy(noise, 0, bytes, from, length);
            Files.write(path, bytes);
            Seen untouched = look();
            assertThat(untouched.storages()).as("seed %d, run %d", seed, run).hasSize(OMITTED + 1);
            try (WrittenArchive archive = new WrittenArchive(directory)) {
                archive.append(200, 0, bytes(200, 10));
            }
            try (ArchiveReader reader = ArchiveReader.open(directory, files)) {
                assertThat(reader.find(JournalQueue.REQUESTS, QUEUE_FILE, 200, 0)
                                .isKept())
                        .as("seed %d, run %d", seed, run)
                        .isTrue();
            }
        }
    }
}
