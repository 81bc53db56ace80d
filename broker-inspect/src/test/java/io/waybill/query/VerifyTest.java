package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.broker.file.StateFiles;
import io.waybill.broker.file.StateRecord;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Finding.Kind;
import io.waybill.query.verify.Verification;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class VerifyTest {

    private static final int CALLS = 300;

    @TempDir
    Path temporary;

    private WrittenHome written;
    private final List<Finding> findings = new ArrayList<>();

    @BeforeEach
    void write() throws IOException {
        written = new WrittenHome(temporary).calls(0, CALLS);
    }

    private Verification verify() throws IOException {
        try (HomeJournals journals = HomeJournals.open(written.home)) {
            return journals.verify(findings::add);
        }
    }

    private List<Finding> damages() {
        return findings.stream().filter(Finding::isDamage).toList();
    }

    private long offsetOf(long counter) throws IOException {
        try (QueueReader reader = QueueReader.open(
                JournalQueue.REQUESTS.in(written.worker(WrittenHome.CALLER)),
                WrittenQueue.HOST.files(),
                JournalSettings.defaults())) {
            while (reader.next() == Step.RECORD) {
                if (MessageId.counter(reader.record().id()) == counter) {
                    return reader.offset();
                }
            }
        }
        throw new AssertionError("no request " + counter);
    }

    private void write(long at, ByteBuffer bytes) throws IOException {
        Path file = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(bytes, at);
        }
    }

    private void flip(long at) throws IOException {
        Path file = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS);
        ByteBuffer one = ByteBuffer.allocate(1);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            channel.read(one, at);
        }
        write(at, ByteBuffer.wrap(new byte[] {(byte) (one.get(0) ^ 16)}));
    }

    private void assertOneRecordLost(long counter) throws IOException {
        Verification verification = verify();
        assertThat(verification.isWhole()).isFalse();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.UNREADABLE
                        && finding.worker().orElseThrow().id() == WrittenHome.CALLER
                        && finding.queue().orElseThrow() == JournalQueue.REQUESTS
                        && finding.file().isPresent()
                        && finding.from() > 0)
                .anyMatch(finding ->
                        finding.kind() == Kind.MISSING && finding.text().contains("record " + counter))
                .anyMatch(finding -> finding.kind() == Kind.NO_REQUEST);
    }

    @Test
    void findsADamagedStoreOnDisk() throws IOException {
        Path worker = written.worker(WrittenHome.CALLER);
        StateFiles stores =
                new StateFiles(worker, WrittenHome.CALLER, 1, WrittenQueue.HOST.files(), WrittenQueue.HOST.clock());
        stores.write("org.acme.cache", "words", List.of(new StateRecord("key", Value.of(7), 1, 1)));
        assertThat(verify().isWhole()).as("with a store that is whole").isTrue();
        Path file = stores.file("org.acme.cache", "words");
        byte[] bytes = Files.readAllBytes(file);
        Files.copy(file, worker.resolve("state/.org.acme.cache@words.state.new"));
        for (int at = 0; at < bytes.length; at++) {
            findings.clear();
            byte[] flipped = bytes.clone();
            flipped[at] ^= 4;
            Files.write(file, flipped);
            assertThat(verify().isWhole()).as("byte %d", at).isFalse();
            assertThat(damages())
                    .singleElement()
                    .satisfies(finding -> assertThat(finding.text()).contains("the store words of org.acme.cache"));
        }
    }

    @Test
    void findsNothingWrongInAWholeJournal() throws IOException {
        Verification verification = verify();
        assertThat(damages()).isEmpty();
        assertThat(verification.isWhole()).isTrue();
        assertThat(verification.records()).isEqualTo(CALLS + CALLS * 9 / 10);
        assertThat(verification.unanswered()).isEqualTo(CALLS / 10);
        assertThat(findings).singleElement().matches(finding -> finding.kind() == Kind.NO_RESPONSE);
    }

    @Test
    void findsABitFlippedInAHeader() throws IOException {
        flip(offsetOf(100) + 4 + Envelope.DEADLINE);
        assertOneRecordLost(100);
    }

    @Test
    void findsABitFlippedInAPayload() throws IOException {
        flip(offsetOf(100) + 4 + Envelope.HEADER_LENGTH + 5);
        assertOneRecordLost(100);
    }

    @Test
    void findsABitFlippedInALength() throws IOException {
        flip(offsetOf(100));
        assertOneRecordLost(100);
    }

    @Test
    void findsZerosWhereRecordsWere() throws IOException {
        write(offsetOf(100) & ~511, ByteBuffer.allocate(512));
        verify();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.UNREADABLE)
                .anyMatch(finding -> finding.kind() == Kind.MISSING);
    }

    @Test
    void findsAFileThatWasCut() throws IOException {
        Path file = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS);
        long at = offsetOf(100);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(at + 60);
        }
        verify();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.UNREADABLE)
                .anyMatch(finding -> finding.kind() == Kind.NO_REQUEST);
    }

    @Test
    void findsByTheIndexThatTheLastRecordsAreGone() throws IOException {
        try (IndexBuilder builder =
                IndexBuilder.open(written.worker(WrittenHome.CALLER), WrittenQueue.settings(), WrittenQueue.HOST)) {
            while (builder.step(1000) != IndexBuilder.Progress.CAUGHT_UP) {
                // indexes
            }
        }
        write(offsetOf(CALLS - 1), ByteBuffer.allocate(512));
        verify();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.MISSING
                        && finding.text().contains("record " + (CALLS - 1) + " is missing at the end"));
    }

    @Test
    void findsARecordOfAnotherWorker() throws IOException {
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLER), JournalQueue.REQUESTS)) {
            requests.append(written.request(MessageId.of(5, CALLS), 5, WrittenHome.CALLEE, "x", CALLS));
        }
        verify();
        assertThat(damages()).hasSize(2).allMatch(finding -> finding.kind() == Kind.MISPLACED);
    }

    /** Its checksum is right. */
    @Test
    void findsAContextThatIsNone() throws IOException {
        long id = MessageId.of(WrittenHome.CALLER, CALLS);
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLER), JournalQueue.REQUESTS)) {
            requests.append(written.request(id, WrittenHome.CALLER, WrittenHome.CALLEE, "x", CALLS)
                    .addFlag(Envelope.CONTEXT));
        }
        verify();
        assertThat(damages())
                .filteredOn(finding -> finding.kind() == Kind.UNREADABLE)
                .hasSize(1)
                .allMatch(finding -> finding.text().contains("the context of a request has 8 to"));
    }

    @Test
    void findsAQueueThatWasPutInAnothersPlace() throws IOException {
        Path requests = JournalQueue.REQUESTS.in(written.worker(WrittenHome.CALLER));
        Path responses = JournalQueue.RESPONSES.in(written.worker(WrittenHome.CALLER));
        Files.delete(responses);
        Files.move(requests, responses);
        verify();
        assertThat(damages()).anyMatch(finding -> finding.kind() == Kind.MISPLACED);
    }

    @Test
    void findsAResponseWithoutARequest() throws IOException {
        try (WrittenQueue responses = WrittenQueue.open(written.worker(WrittenHome.CALLEE), JournalQueue.RESPONSES)) {
            responses.append(
                    io.waybill.api.MessageType.NAMED_RET,
                    MessageId.of(WrittenHome.CALLER, CALLS + 5),
                    WrittenHome.CALLEE,
                    WrittenHome.CALLER);
        }
        verify();
        assertThat(damages()).extracting(Finding::kind).containsExactlyInAnyOrder(Kind.NO_REQUEST, Kind.MISSING);
    }

    @Test
    @Timeout(value = 20, unit = TimeUnit.SECONDS)
    void findsAFifoInAFilesPlace() throws Exception {
        Path file = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS);
        Files.delete(file);
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .isZero();
        verify();
        assertThat(damages())
                .anyMatch(finding ->
                        finding.kind() == Kind.UNREADABLE && finding.text().contains("FIFO"));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 0x80000000 | 64})
    void namesAHoleAtWhichATailerStopsSilently(int frame) throws IOException {
        long at = offsetOf(100);
        write(
                at,
                ByteBuffer.allocate(Integer.BYTES)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putInt(0, frame));
        Path requests = JournalQueue.REQUESTS.in(written.worker(WrittenHome.CALLER));
        MessageBuffer buffer = new MessageBuffer();
        try (JournalTail tail = JournalTail.open(requests, WrittenQueue.settings())) {
            for (int i = 0; i < 100; i++) {
                assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
            }
            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.NONE);
        }
        verify();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.UNREADABLE
                        && finding.file().orElseThrow().startsWith(requests)
                        && finding.from() == at
                        && finding.text().contains("a tailer stops here"));
    }

    private void assertFound(Path file, String text) throws IOException {
        assertThat(verify().isWhole()).isFalse();
        assertThat(damages())
                .anyMatch(finding -> finding.kind() == Kind.UNREADABLE
                        && finding.worker().orElseThrow().id() == WrittenHome.CALLER
                        && finding.file().orElseThrow().equals(file)
                        && finding.text().contains(text));
    }

    @Test
    void findsADamagedTable() throws IOException {
        Path table =
                JournalQueue.REQUESTS.in(written.worker(WrittenHome.CALLER)).resolve("metadata.cq4t");
        byte[] bytes = Files.readAllBytes(table);
        bytes[60] ^= 1;
        Files.write(table, bytes);
        assertFound(table, "no header of a queue's table");
        Files.write(table, new byte[0]);
        assertFound(table, "this one 0");
    }

    @Test
    void notesAMissingTable() throws IOException {
        Files.delete(
                JournalQueue.REQUESTS.in(written.worker(WrittenHome.CALLER)).resolve("metadata.cq4t"));
        assertThat(verify().isWhole()).isTrue();
        assertThat(findings)
                .anyMatch(
                        finding -> finding.file().map(Path::toString).orElse("").endsWith("requests/metadata.cq4t"));
    }

    @Test
    void findsAnEmptyFileBeforeOthers() throws IOException {
        Path file = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS);
        Path empty = file.resolveSibling("20200101L.cq4");
        Files.createFile(empty, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        assertFound(empty, "it is empty, and newer ones follow");
    }

    @Test
    void findsADamagedWorkerJson() throws IOException {
        Path json = written.worker(WrittenHome.CALLER).resolve("worker.json");
        Files.write(json, new byte[10]);
        assertFound(json, "no JSON of a worker");
        Files.delete(json);
        findings.clear();
        assertThat(verify().isWhole()).isTrue();
        assertThat(findings).anyMatch(finding -> finding.file().equals(Optional.of(json)));
    }
}
