package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.wire.MessageBuffer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
class JournalIndexTest {

    private static final FileAttribute<?> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    @TempDir
    Path home;

    private WorkerJournal journal;

    @BeforeEach
    void make() throws IOException {
        journal = new WorkerJournal(home);
    }

    @Test
    void findsMessagesThroughTheIndex() throws IOException {
        journal.write(0, 3000).index();
        try (JournalIndex index = journal.open()) {
            journal.assertFinds(index, 0, 3000, 1);
            assertThat(index.problem()).isEmpty();
        }
    }

    @Test
    void findsMessagesWithoutAnIndex() throws IOException {
        journal.write(0, 3000).assertFinds(0, 3000, 7);
    }

    @Test
    void findsMessagesBesideAnIndexThatIsBeingBegun() throws IOException {
        journal.write(0, 100);
        Files.createDirectory(journal.indexPath(), PRIVATE);
        assertFindsWithoutAProblem();
        try (IndexBuilder builder = journal.builder()) {
            assertFindsWithoutAProblem(); // nothing of it is on the disk
            assertThat(builder.problem()).isEmpty();
        }
    }

    private void assertFindsWithoutAProblem() throws IOException {
        try (JournalIndex index = journal.open()) {
            assertThat(index.problem()).isEmpty();
            journal.assertFinds(index, 0, 100, 1);
        }
    }

    @Test
    void findsMessagesThatAreNotIndexedYet() throws IOException {
        journal.write(0, 1000).index();
        journal.write(1000, 2500).assertFinds(0, 2500, 3);
    }

    @Test
    void findsWhatWasAppendedSinceItWasOpened() throws IOException {
        journal.write(0, 500).index();
        try (JournalIndex index = journal.open()) {
            journal.assertFinds(index, 0, 500, 10);
            try (WrittenQueue requests = WrittenQueue.open(journal.path, JournalQueue.REQUESTS)) {
                for (long counter = 500; counter < 600; counter++) {
                    long id = MessageId.of(WrittenQueue.WORKER, counter);
                    assertThat(index.find(JournalQueue.REQUESTS, id)).isEmpty();
                    requests.requests(counter, counter + 1);
                    WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, id);
                }
            }
        }
    }

    @Test
    void findsNothingInAJournalThatHasNotBegun() throws IOException {
        try (JournalIndex index = journal.open()) {
            assertThat(index.find(JournalQueue.REQUESTS, 1)).isEmpty();
            journal.write(0, 5);
            journal.assertFinds(index, 0, 5, 1);
        }
    }

    @Test
    void findsTheNewestOfSeveralRecordsWithOneId() throws IOException {
        long id = MessageId.of(WrittenQueue.WORKER, 5);
        journal.write(0, 100).index();
        try (WrittenQueue requests = WrittenQueue.open(journal.path, JournalQueue.REQUESTS)) {
            requests.append(MessageType.NAMED_CALL, id, WrittenQueue.WORKER, 9);
        }
        for (int indexed = 0; indexed < 2; indexed++) {
            try (JournalIndex index = journal.open()) {
                assertThat(index.find(JournalQueue.REQUESTS, id)).isPresent();
                assertThat(index.record(JournalQueue.REQUESTS).to()).isEqualTo(9);
                assertThat(index.search(JournalQueue.REQUESTS, id)).isPresent();
                assertThat(index.record(JournalQueue.REQUESTS).to()).isEqualTo(9);
            }
            journal.index();
        }
    }

    @Test
    void findsWhatAHandlerSent() throws IOException {
        long parent = MessageId.of(WrittenQueue.PEER, 7);
        long other = MessageId.of(WrittenQueue.PEER, 8);
        journal.write(0, 100);
        children(parent, 200, 203);
        children(other, 203, 205);
        for (int indexed = 0; indexed < 2; indexed++) {
            try (JournalIndex index = journal.open()) {
                assertThat(index.children(parent, 10).orElseThrow()).containsExactly(id(200), id(201), id(202));
                assertThat(index.children(parent, 2).orElseThrow()).containsExactly(id(200), id(201));
                assertThat(index.children(other, 10).orElseThrow()).containsExactly(id(203), id(204));
                assertThat(index.children(MessageId.of(WrittenQueue.PEER, 9), 10)
                                .orElseThrow())
                        .isEmpty();
            }
            journal.index();
        }
        children(parent, 205, 206);
        try (JournalIndex index = journal.open()) {
            assertThat(index.children(parent, 10).orElseThrow()).containsExactly(id(200), id(201), id(202), id(205));
        }
    }

    private static long id(long counter) {
        return MessageId.of(WrittenQueue.WORKER, counter);
    }

    private void children(long parent, long first, long end) {
        MessageBuffer buffer = new MessageBuffer();
        try (WrittenQueue requests = WrittenQueue.open(journal.path, JournalQueue.REQUESTS)) {
            for (long counter = first; counter < end; counter++) {
                requests.append(
                        buffer.begin(MessageType.NAMED_CALL, id(counter), WrittenQueue.WORKER, WrittenQueue.PEER, 0, 0)
                                .parent(parent));
            }
        }
    }

    @Test
    void goesOnWhereAnEarlierBuilderStopped() throws IOException {
        journal.write(0, 1000).index();
        journal.write(1000, 1200);
        try (IndexBuilder builder = journal.builder()) {
            WorkerJournal.catchUp(builder);
            assertThat(builder.indexed()).isEqualTo(400);
            assertThat(builder.rebuilds()).isZero();
        }
        journal.assertFinds(0, 1200, 1);
    }

    @Test
    void losesNothingWhenTheIndexIsDeleted() throws IOException {
        journal.write(0, 2000).index();
        try (JournalIndex opened = journal.open()) {
            for (Path file : journal.indexFiles()) {
                Files.delete(file);
            }
            Files.delete(journal.indexPath());
            journal.assertFinds(opened, 0, 2000, 3);
            journal.assertFinds(0, 2000, 3);
            assertThat(journal.index()).isZero();
            journal.assertFinds(opened, 0, 2000, 3);
        }
        journal.assertFinds(0, 2000, 3);
    }

    @Test
    void doesNotUseTheIndexOfAnotherJournal() throws IOException {
        journal.write(0, 500).index();
        Path other = Files.move(journal.path, home.resolve("4-other"));
        journal = new WorkerJournal(home);
        journal.write(0, 700);
        Files.move(other.resolve("index"), journal.indexPath());
        try (JournalIndex index = journal.open()) {
            journal.assertFinds(index, 0, 700, 3);
            assertThat(index.problem()).contains("made from other records");
        }
        assertThat(journal.index()).isEqualTo(1);
        journal.assertFinds(0, 700, 3);
    }

    @Test
    void doesNotBelieveAnIndexThatIsAheadOfItsQueue() throws IOException {
        journal.write(0, 500).index();
        List<Path> index = journal.indexFiles();
        Path kept = Files.move(journal.indexPath(), home.resolve("kept"));
        assertThat(index).isNotEmpty();
        try (Stream<Path> queues = Files.walk(journal.path)) {
            for (Path file : queues.filter(Files::isRegularFile).toList()) {
                Files.delete(file); // as a power cut may take back what was written last
            }
        }
        journal.write(0, 200);
        Files.move(kept, journal.indexPath());
        journal.assertFinds(0, 200, 1);
        assertThat(journal.index()).isEqualTo(1);
        journal.assertFinds(0, 200, 1);
    }

    @Test
    void doesNotBelieveAnIndexThatLies() throws Exception {
        journal.write(0, 500).index();
        try (IndexStore store = IndexStore.openOwn(journal.indexPath())) {
            Checkpoint checkpoint = store.checkpoint(JournalQueue.REQUESTS).orElseThrow();
            for (long counter = 0; counter < 500; counter++) {
                store.add(
                        JournalQueue.REQUESTS,
                        MessageId.of(WrittenQueue.WORKER, counter),
                        Roll.DAILY,
                        checkpoint.position().index(),
                        checkpoint.position().offset() - 4 * (counter % 2000));
            }
            store.write(JournalQueue.REQUESTS, checkpoint);
            store.flush();
        }
        journal.assertFinds(0, 500, 1);
    }

    @Test
    void findsMessagesWhileAThreadAppendsAndAnotherIndexes() throws Exception {
        AtomicLong written = new AtomicLong();
        AtomicBoolean done = new AtomicBoolean();
        Thread writer = new Thread(() -> {
            try (WrittenQueue requests = WrittenQueue.open(journal.path, JournalQueue.REQUESTS)) {
                for (long counter = 0; counter < 60_000; counter += 20) {
                    requests.requests(counter, counter + 20);
                    written.set(counter + 20);
                }
            }
            done.set(true);
        });
        Thread indexer = new Thread(() -> {
            try (IndexBuilder builder = journal.builder()) {
                while (!done.get()) {
                    builder.step(500);
                }
            }
        });
        writer.start();
        indexer.start();
        try (JournalIndex index = journal.open()) {
            long seed = 1;
            while (!done.get()) {
                long there = written.get();
                if (there > 0) {
                    seed = seed * 6364136223846793005L + 1442695040888963407L;
                    long counter = Long.remainderUnsigned(seed, there);
                    WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, counter));
                }
            }
        }
        writer.join();
        indexer.join();
    }

    @Test
    void findsMessagesThatAnotherProcessAppends() throws Exception {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--add-") || argument.startsWith("-Djava.io.tmpdir"))
                .forEach(command::add);
        command.addAll(List.of(
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                AppendingProcess.class.getName(),
                journal.path.toString()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (JournalIndex index = journal.open();
                BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            int seen = 0;
            while (seen < 500) {
                String line = lines.readLine();
                if (line != null && line.matches("[0-9]+")) {
                    long last = Long.parseLong(line) - 1;
                    WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, last));
                    seen++;
                }
            }
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void writesNothingWhenItReads() throws IOException {
        journal.write(0, 500).index();
        Map<Path, FileTime> before = times();
        journal.assertFinds(0, 500, 5);
        assertThat(times()).isEqualTo(before);
    }

    private Map<Path, FileTime> times() throws IOException {
        Map<Path, FileTime> times = new TreeMap<>();
        try (Stream<Path> all = Files.walk(home)) {
            for (Path path : all.toList()) {
                times.put(path, Files.getLastModifiedTime(path));
            }
        }
        return times;
    }

    /** Beyond what it remembers beside the index it reads the queue, as long as the index has not come nearer. */
    @Test
    void findsMessagesOfWhichItCanNotRememberAll() throws IOException {
        journal.write(0, 100).index();
        journal.write(100, 1000);
        for (int maxRemembered : new int[] {1, 100, 899, 900}) {
            try (JournalIndex index = journal.open(maxRemembered)) {
                journal.assertFinds(index, 0, 1000, 13);
                assertFindsChildrenOrSaysThatItCanNot(index, maxRemembered >= 900);
                journal.assertFinds(index, 999, 1000, 1);
            }
        }
    }

    private static void assertFindsChildrenOrSaysThatItCanNot(JournalIndex index, boolean can) throws IOException {
        assertThat(index.children(MessageId.of(WrittenQueue.PEER, 7), 10).isPresent())
                .as("whether children are known")
                .isEqualTo(can);
    }

    @Test
    void finds300ThousandMessages() throws IOException {
        journal.write(0, 150_000);
        try (IndexBuilder builder = journal.builder()) {
            WorkerJournal.catchUp(builder);
            assertThat(builder.indexed()).isEqualTo(300_000);
            journal.assertFinds(0, 150_000, 11);
        }
        journal.write(150_000, 155_000).assertFinds(0, 155_000, 13);
    }
}
