package io.waybill.salvage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.broker.file.StateFiles;
import io.waybill.broker.file.StateRecord;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.StoredWorker;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.DamagedHome;
import io.waybill.query.verify.LostRecords.Range;
import io.waybill.wire.Envelope;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 240, unit = TimeUnit.SECONDS)
class SalvageTest {

    private static final int CALLS = 300;

    @TempDir
    Path temporary;

    private DamagedHome damaged;
    private Path out;

    @BeforeEach
    void write() throws IOException {
        damaged = new DamagedHome(temporary).calls(0, CALLS);
        out = temporary.resolve("new");
    }

    private SalvageReport salvage() throws IOException {
        return new Salvage(Home.openDamaged(damaged.home().path(), WrittenQueue.HOST), out, read -> {})
                .run(Optional.empty());
    }

    private Home salvaged() throws IOException {
        return Home.openExisting(out, WrittenQueue.HOST);
    }

    private static JournalSettings reading() {
        return new JournalSettings(Roll.DAILY, 256 << 20, 64 << 20, 1 << 20);
    }

    /** The bytes of each record, by its number. */
    private static Map<Long, byte[]> records(Path worker, JournalQueue queue) throws IOException {
        Map<Long, byte[]> records = new LinkedHashMap<>();
        try (QueueReader reader = QueueReader.open(queue.in(worker), WrittenQueue.HOST.files(), reading())) {
            for (Step step = reader.next(); step != Step.END; step = reader.next()) {
                byte[] bytes = new byte[reader.record().buffer().length()];
                reader.record().buffer().memory().getBytes(0, bytes);
                records.put(reader.record().sequence(), bytes);
            }
        }
        return records;
    }

    private static RecordPosition position(Path worker, JournalQueue queue, long sequence) throws IOException {
        try (QueueReader reader = QueueReader.open(queue.in(worker), WrittenQueue.HOST.files(), reading())) {
            for (Step step = reader.next(); step != Step.END; step = reader.next()) {
                if (step == Step.RECORD && reader.record().sequence() == sequence) {
                    return reader.position();
                }
            }
        }
        throw new AssertionError("no record " + sequence);
    }

    private void flip(int worker, JournalQueue queue, long sequence) throws IOException {
        long at = position(damaged.worker(worker), queue, sequence).offset() + 4 + Envelope.SENT;
        try (FileChannel channel =
                FileChannel.open(damaged.file(worker, queue), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, at);
            channel.write(ByteBuffer.wrap(new byte[] {(byte) (one.get(0) ^ 4)}), at);
        }
    }

    private void assertSame(int worker, JournalQueue queue, long... lost) throws IOException {
        Map<Long, byte[]> before = records(damaged.worker(worker), queue);
        for (long sequence : lost) {
            before.remove(sequence);
        }
        Map<Long, byte[]> after =
                records(salvaged().workersPath().resolve(damaged.worker(worker).getFileName()), queue);
        assertThat(after.keySet()).containsExactlyElementsOf(before.keySet());
        before.forEach((sequence, bytes) -> assertThat(after.get(sequence)).isEqualTo(bytes));
    }

    @Test
    void copiesAWholeHomeAsItIs() throws IOException {
        SalvageReport report = salvage();
        assertThat(report.isWhole()).isTrue();
        assertThat(report.workers()).hasSize(2);
        for (int worker : new int[] {DamagedHome.CALLER, DamagedHome.CALLEE}) {
            for (JournalQueue queue : JournalQueue.values()) {
                assertSame(worker, queue);
            }
        }
        assertThat(DamagedHome.damages(salvaged())).isEmpty();
        assertThat(salvaged().claimed(problem -> {
                    throw new AssertionError(problem);
                }))
                .containsEntry("caller", DamagedHome.CALLER)
                .containsEntry("callee", DamagedHome.CALLEE);
    }

    @Test
    void bringsBackAllButWhatIsDamagedAndSaysSo() throws IOException {
        flip(DamagedHome.CALLER, JournalQueue.REQUESTS, 17);
        flip(DamagedHome.CALLER, JournalQueue.REQUESTS, 18);
        flip(DamagedHome.CALLEE, JournalQueue.RESPONSES, 100);
        assertThat(DamagedHome.damages(damaged.home())).isNotEmpty();
        SalvageReport report = salvage();
        assertThat(report.isWhole()).isFalse();
        SalvagedQueue requests = report.workers().get(0).queues().get(0);
        assertThat(requests.records()).isEqualTo(CALLS - 2);
        assertThat(requests.gaps()).containsExactly(new Range(17, 18));
        assertThat(requests.damages()).isEqualTo(2);
        assertThat(report.workers().get(1).queues().get(1).gaps()).containsExactly(new Range(100, 100));
        assertSame(DamagedHome.CALLER, JournalQueue.REQUESTS, 17, 18);
        assertSame(DamagedHome.CALLEE, JournalQueue.RESPONSES, 100);
        assertThat(DamagedHome.damages(salvaged())).isEmpty();
    }

    @Test
    void leavesTheDamagedHomeAsItIs() throws IOException {
        flip(DamagedHome.CALLER, JournalQueue.REQUESTS, 17);
        Map<Path, byte[]> before = content(damaged.home().path());
        salvage();
        Map<Path, byte[]> after = content(damaged.home().path());
        assertThat(after.keySet()).isEqualTo(before.keySet());
        before.forEach(
                (path, bytes) -> assertThat(after.get(path)).as(path.toString()).isEqualTo(bytes));
    }

    private static Map<Path, byte[]> content(Path directory) throws IOException {
        Map<Path, byte[]> content = new LinkedHashMap<>();
        try (var paths = Files.walk(directory)) {
            for (Path path : paths.filter(Files::isRegularFile).sorted().toList()) {
                content.put(path, Files.readAllBytes(path));
            }
        }
        return content;
    }

    @Test
    void aWorkerGoesOnInTheNewHome() throws Exception {
        flip(DamagedHome.CALLER, JournalQueue.REQUESTS, 17);
        salvage();
        long epoch = new StoredWorker(
                        new WorkerInfo(DamagedHome.CALLER, "caller"),
                        damaged.worker(DamagedHome.CALLER),
                        WrittenQueue.HOST.files())
                .epoch();
        try (WorkerDirectory caller = salvaged().join("caller", JoinOptions.defaults())) {
            assertThat(caller.id()).isEqualTo(DamagedHome.CALLER);
            assertThat(caller.epoch()).isEqualTo(epoch + 1);
            try (WrittenQueue queue = WrittenQueue.open(
                    JournalQueue.REQUESTS.in(caller.path()),
                    WrittenQueue.settings().withRoll(Roll.named(salvaged().rollCycle())))) {
                queue.requests(CALLS, CALLS + 10);
            }
            assertThat(records(caller.path(), JournalQueue.REQUESTS))
                    .hasSize(CALLS - 1 + 10)
                    .containsKey(CALLS + 9L);
        }
        assertThat(DamagedHome.damages(salvaged())).isEmpty();
    }

    @Test
    void takesTheCursorsOverToTheSameRecords() throws Exception {
        Path callerPath = damaged.worker(DamagedHome.CALLER);
        long next = position(callerPath, JournalQueue.REQUESTS, 200).index();
        long lostOne = position(callerPath, JournalQueue.REQUESTS, 17).index();
        try (WorkerDirectory callee = damaged.home().join("callee", JoinOptions.defaults())) {
            callee.cursors().slot(DamagedHome.CALLER).requestsIndex(next);
            callee.cursors().slot(DamagedHome.CALLER).requestsConsumed(200);
        }
        try (WorkerDirectory caller = damaged.home().join("caller", JoinOptions.defaults())) {
            caller.cursors().slot(DamagedHome.CALLER).requestsIndex(lostOne);
        }
        flip(DamagedHome.CALLER, JournalQueue.REQUESTS, 17);
        salvage();
        Path newCaller = salvaged().workersPath().resolve("3-caller");
        StoredCursor callee = cursor("4-callee");
        assertThat(callee.requestsIndex())
                .isEqualTo(position(newCaller, JournalQueue.REQUESTS, 200).index());
        assertThat(callee.requestsIndex()).isEqualTo(next - 1);
        assertThat(callee.requestsConsumed()).isEqualTo(200);
        assertThat(callee.responsesIndex()).isEqualTo(-1);
        assertThat(cursor("3-caller").requestsIndex())
                .isEqualTo(position(newCaller, JournalQueue.REQUESTS, 18).index());
    }

    private StoredCursor cursor(String directory) throws IOException {
        String[] parts = directory.split("-");
        StoredWorker worker = new StoredWorker(
                new WorkerInfo(Integer.parseInt(parts[0]), parts[1]),
                salvaged().workersPath().resolve(directory),
                WrittenQueue.HOST.files());
        List<StoredCursor> cursors = worker.cursors();
        assertThat(worker.problems()).isEmpty();
        return cursors.get(0);
    }

    @Test
    void leavesOutARecordThatAMisdirectedWriteBroughtThere() throws IOException {
        Path file = damaged.file(DamagedHome.CALLER, JournalQueue.REQUESTS);
        Path worker = damaged.worker(DamagedHome.CALLER);
        long from = position(worker, JournalQueue.REQUESTS, 150).offset();
        long to = position(worker, JournalQueue.REQUESTS, 50).offset();
        int length = (int) (position(worker, JournalQueue.REQUESTS, 151).offset() - from);
        assertThat(position(worker, JournalQueue.REQUESTS, 51).offset() - to).isEqualTo(length);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = ByteBuffer.allocate(length);
            channel.read(bytes, from);
            channel.write(bytes.flip(), to);
        }
        SalvageReport report = salvage();
        SalvagedQueue requests = report.workers().get(0).queues().get(0);
        assertThat(requests.strangers()).isEqualTo(1);
        assertThat(requests.gaps()).containsExactly(new Range(50, 50));
        assertThat(requests.records()).isEqualTo(CALLS - 1);
        assertThat(DamagedHome.damages(salvaged())).isEmpty();
    }

    @Test
    void copiesWhatLiesBesideTheQueuesUnlessItIsNoFileOfOurs() throws Exception {
        Path worker = damaged.worker(DamagedHome.CALLER);
        for (String directory : new String[] {"bundles", "archive", "archive/requests", "kept"}) {
            damaged.home().host().files().createPrivateDirectory(worker.resolve(directory));
        }
        byte[] bytes = {1, 2, 3};
        damaged.home().host().files().createAtomically(worker.resolve("bundles/a.jar"), bytes);
        damaged.home().host().files().createAtomically(worker.resolve("archive/requests/20261120L.wba"), bytes);
        damaged.home().host().files().createAtomically(worker.resolve("kept/3.1.value"), bytes);
        damaged.home().host().files().createAtomically(worker.resolve("outcomes"), bytes);
        damaged.home().host().files().createAtomically(worker.resolve("responders"), bytes);
        Files.createSymbolicLink(worker.resolve("bundles/b.jar"), Path.of("/etc/passwd"));
        assertThat(new ProcessBuilder("mkfifo", worker.resolve("bundles/c.jar").toString())
                        .start()
                        .waitFor())
                .isZero();
        SalvagedWorker report = salvage().workers().get(0);
        assertThat(report.files()).isEqualTo(4);
        Path copy = salvaged().workersPath().resolve("3-caller");
        assertThat(copy.resolve("outcomes")).hasBinaryContent(bytes);
        assertThat(copy.resolve("responders")).hasBinaryContent(bytes);
        assertThat(copy.resolve("bundles/a.jar")).hasBinaryContent(bytes);
        assertThat(copy.resolve("archive/requests/20261120L.wba")).hasBinaryContent(bytes);
        assertThat(copy.resolve("kept/3.1.value")).doesNotExist();
        assertThat(copy.resolve("bundles/b.jar")).doesNotExist();
        assertThat(report.problems())
                .hasSize(3)
                .anyMatch(text -> text.contains("b.jar") && text.contains("a symbolic link"))
                .anyMatch(text -> text.contains("c.jar") && text.contains("a FIFO"))
                .anyMatch(text -> text.contains("3.1.value"));
    }

    @Test
    void copiesTheStoresOnDiskThatAreWhole() throws Exception {
        Path worker = damaged.worker(DamagedHome.CALLER);
        Host host = damaged.home().host();
        StateFiles stores = new StateFiles(worker, 3, 1, host.files(), host.clock());
        stores.write("org.acme.cache", "whole", List.of(new StateRecord("key", Value.of(7), 1, 1)));
        stores.write("org.acme.cache", "flipped", List.of(new StateRecord("key", Value.of(8), 1, 1)));
        Path flipped = stores.file("org.acme.cache", "flipped");
        byte[] bytes = Files.readAllBytes(flipped);
        bytes[bytes.length - 1] ^= 1;
        Files.write(flipped, bytes);
        host.files().createAtomically(worker.resolve("state/.org.acme.cache@half.state.new"), bytes);
        SalvagedWorker report = salvage().workers().get(0);
        Path copy = salvaged().workersPath().resolve("3-caller");
        StateFiles copied = new StateFiles(copy, 3, 1, host.files(), host.clock());
        assertThat(copied.read("org.acme.cache", "whole"))
                .singleElement()
                .extracting(StateRecord::value)
                .isEqualTo(Value.of(7));
        assertThat(copied.sizes().keySet()).containsExactly(copied.file("org.acme.cache", "whole"));
        assertThat(report.problems())
                .singleElement()
                .asString()
                .contains("the store flipped of org.acme.cache")
                .contains("checksum");
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void goesRoundWhatIsNoFileAndNoDirectory() throws Exception {
        Path file = damaged.file(DamagedHome.CALLER, JournalQueue.REQUESTS);
        Files.delete(file);
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .isZero();
        Files.createSymbolicLink(damaged.home().workersPath().resolve("8-link"), Path.of("/"));
        Files.delete(damaged.worker(DamagedHome.CALLER).resolve("worker.json"));
        Files.createSymbolicLink(damaged.worker(DamagedHome.CALLER).resolve("worker.json"), Path.of("/dev/zero"));
        SalvageReport report = salvage();
        assertThat(report.problems()).singleElement().asString().contains("8-link");
        assertThat(report.workers().get(0).problems())
                .anyMatch(text -> text.contains("a FIFO"))
                .anyMatch(text -> text.contains("worker.json") && text.contains("a symbolic link"));
        assertThat(report.workers().get(0).epoch()).isPositive();
        assertSame(DamagedHome.CALLEE, JournalQueue.RESPONSES);
    }

    @Test
    void readsAHomeWhosePropertiesAreGone() throws IOException {
        Files.write(damaged.home().path().resolve("home.properties"), new byte[] {'x'});
        SalvageReport report = salvage();
        assertThat(report.problems()).singleElement().asString().contains("home.properties");
        assertThat(salvaged().rollCycle()).isEqualTo(Roll.DAILY.name());
        assertSame(DamagedHome.CALLER, JournalQueue.REQUESTS);
    }

    @Test
    void copiesOneWorkerAlone() throws IOException {
        SalvageReport report = new Salvage(damaged.home(), out, read -> {})
                .run(Optional.of(new WorkerInfo(DamagedHome.CALLEE, "callee")));
        assertThat(report.workers()).extracting(worker -> worker.info().name()).containsExactly("callee");
        assertSame(DamagedHome.CALLEE, JournalQueue.RESPONSES);
        assertThat(salvaged().idOf("caller")).contains(DamagedHome.CALLER);
    }

    @Test
    void refusesAPlaceThatIsNotEmptyOrInsideTheHome() throws IOException {
        Files.createDirectories(out);
        Files.createFile(out.resolve("something"));
        assertThatThrownBy(this::salvage).isInstanceOf(HomeException.class).hasMessageContaining("is not empty");
        out = damaged.home().path().resolve("new");
        assertThatThrownBy(this::salvage).isInstanceOf(HomeException.class).hasMessageContaining("lie in each other");
        assertThat(out).doesNotExist();
    }

    @Test
    void copiesFromAWriterThatGoesOn() throws Exception {
        try (WrittenQueue queue = WrittenQueue.open(damaged.worker(DamagedHome.CALLEE), JournalQueue.REQUESTS)) {
            List<String> appended = new ArrayList<>();
            Thread writer = new Thread(
                    () -> {
                        for (int i = 0; i < 20_000; i++) {
                            queue.append(
                                    io.waybill.api.MessageType.NAMED_CALL,
                                    MessageId.of(DamagedHome.CALLEE, i),
                                    DamagedHome.CALLEE,
                                    DamagedHome.CALLER);
                        }
                        appended.add("all");
                    },
                    "writer");
            writer.start();
            SalvageReport report;
            try {
                report = salvage();
            } finally {
                writer.join();
            }
            assertThat(appended).containsExactly("all");
            assertThat(report.isWhole()).isTrue();
        }
        assertThat(DamagedHome.damages(salvaged())).isEmpty();
    }
}
