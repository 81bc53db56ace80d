package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.testing.core.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksDBException;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
class DamagedIndexTest {

    private static final int MESSAGES = 1500;
    private static final int PARTS = 20;

    @TempDir
    Path home;

    private WorkerJournal journal;

    @BeforeEach
    void make() throws IOException {
        journal = new WorkerJournal(home);
        journal.write(0, MESSAGES).index();
    }

    /** What holds whatever became of the index: lookups go by it, a builder makes a good one of it, and lookups go on. */
    private void assertHarmless() throws IOException {
        journal.assertFinds(0, MESSAGES, 29);
        journal.index();
        try (JournalIndex index = journal.open()) {
            journal.assertFinds(index, 0, MESSAGES, 29);
        }
    }

    private void assertRebuilt() throws IOException {
        journal.assertFinds(0, MESSAGES, 29);
        assertThat(journal.index()).isEqualTo(1);
        try (JournalIndex index = journal.open()) {
            journal.assertFinds(index, 0, MESSAGES, 29);
            assertThat(index.problem()).isEmpty();
        }
    }

    /** Damaged in one place after the other, of which one holds the version, which is read when all is open. */
    @Test
    void leavesNothingOpenOfAnIndexThatCanNotBeRead() throws Exception {
        Path table = journal.indexFiles().stream()
                .filter(file -> file.toString().endsWith(".sst"))
                .findFirst()
                .orElseThrow();
        byte[] whole = Files.readAllBytes(table);
        List<String> failedIn = new ArrayList<>();
        for (int part = 0; part < PARTS; part++) {
            byte[] damaged = whole.clone();
            for (int at = whole.length * part / PARTS; at < whole.length * (part + 1) / PARTS; at += 16) {
                damaged[at] ^= 1;
            }
            Files.write(table, damaged);
            try {
                IndexStore.openReadOnly(table.getParent(), Host.real().files()).ifPresent(IndexStore::close);
            } catch (IOException | RocksDBException e) {
                Stream.of(e.getStackTrace())
                        .filter(frame -> frame.getClassName().equals(IndexStore.class.getName()))
                        .findFirst()
                        .ifPresent(frame -> failedIn.add(frame.getMethodName()));
            }
            assertThat(openBelow(table.getParent()))
                    .as(
                            "files of the index that are open after it was damaged in part %d; it failed in %s",
                            part, failedIn)
                    .isEmpty();
        }
        assertThat(failedIn).contains("hasVersion");
    }

    private static List<String> openBelow(Path directory) throws IOException {
        List<String> open = new ArrayList<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    String target = Files.readSymbolicLink(descriptor).toString();
                    if (target.startsWith(directory.toString())) {
                        open.add(target);
                    }
                } catch (NoSuchFileException e) {
                    // closed meanwhile
                }
            }
        }
        return open;
    }

    private void fifo(Path path) throws Exception {
        assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor())
                .isZero();
    }

    private void removeIndex() throws IOException {
        for (Path file : journal.indexFiles()) {
            Files.delete(file);
        }
        Files.delete(journal.indexPath());
    }

    @Test
    void bitsFlippedAnywhereAreHarmless() throws IOException {
        Random random = new Random(Seeds.one(11));
        for (int round = 0; round < 40; round++) {
            List<Path> files = journal.indexFiles();
            Path file = files.get(random.nextInt(files.size()));
            long size = Files.size(file);
            if (size == 0) {
                continue;
            }
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                long at = (long) (random.nextDouble() * size);
                ByteBuffer one = ByteBuffer.allocate(1);
                channel.read(one, at);
                one.put(0, (byte) (one.get(0) ^ 1 << random.nextInt(8))).rewind();
                channel.write(one, at);
            }
            assertHarmless();
        }
    }

    @Test
    void filesCutShortAreHarmless() throws IOException {
        Random random = new Random(Seeds.one(12));
        for (int round = 0; round < 20; round++) {
            List<Path> files = journal.indexFiles();
            Path file = files.get(random.nextInt(files.size()));
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate((long) (random.nextDouble() * channel.size()));
            }
            assertHarmless();
        }
    }

    @Test
    void missingFilesAreHarmless() throws IOException {
        for (int i = 0; i < journal.indexFiles().size(); i++) {
            Files.delete(journal.indexFiles().get(i));
            assertHarmless();
        }
    }

    @Test
    void aFifoInTheIndexsPlaceIsHarmless() throws Exception {
        removeIndex();
        fifo(journal.indexPath());
        assertRebuilt();
    }

    @Test
    void aFifoAmongTheIndexsFilesIsHarmless() throws Exception {
        Files.delete(journal.indexPath().resolve("CURRENT"));
        fifo(journal.indexPath().resolve("CURRENT"));
        assertRebuilt();
    }

    @Test
    void aLinkInTheIndexsPlaceIsNotFollowed() throws IOException {
        removeIndex();
        Path elsewhere = Files.createDirectory(home.resolve("elsewhere"));
        Files.writeString(elsewhere.resolve("precious"), "x");
        Files.createSymbolicLink(journal.indexPath(), elsewhere);
        assertRebuilt();
        assertThat(elsewhere.resolve("precious")).exists();
    }

    @Test
    void aLinkAmongTheIndexsFilesIsNotFollowed() throws IOException {
        Path precious = Files.writeString(home.resolve("precious"), "x");
        Files.delete(journal.indexPath().resolve("CURRENT"));
        Files.createSymbolicLink(journal.indexPath().resolve("CURRENT"), precious);
        assertRebuilt();
        assertThat(precious).hasContent("x");
    }

    @Test
    void aFileInTheIndexsPlaceIsHarmless() throws IOException {
        removeIndex();
        Files.writeString(journal.indexPath(), "no index");
        assertRebuilt();
    }

    @Test
    void aDirectoryAmongTheIndexsFilesIsHarmless() throws IOException {
        Files.delete(journal.indexPath().resolve("CURRENT"));
        Path inner = Files.createDirectory(journal.indexPath().resolve("CURRENT"));
        Files.writeString(inner.resolve("file"), "x");
        assertRebuilt();
    }
}
