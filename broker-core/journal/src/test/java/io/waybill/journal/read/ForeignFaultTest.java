package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.CutFile;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A thread that met a fault in another mapped file, and on JDK 17 was not told of it yet, goes on with a queue that is whole.
 */
@Timeout(120)
class ForeignFaultTest {

    private static final int RECORDS = 20_000;
    private static final int CLOSES = 1000;

    @TempDir
    private Path directory;

    private CutFile other;
    private int polls;

    @BeforeEach
    void cutAnother() throws IOException {
        other = new CutFile(directory.resolve("cut"));
    }

    @Test
    void anAppendIsDoneOnce() throws Exception {
        try (Journal journal = JournalOpener.open(
                Files.createDirectory(JournalQueue.REQUESTS.in(directory)),
                WrittenQueue.settings(),
                WrittenQueue.HOST.clock(),
                new UnreservedDisk())) {
            for (int i = 0; i < RECORDS; i++) {
                MessageBuffer record = request(i);
                appendAfterAFault(journal, record);
            }
            assertThat(journal.size()).isEqualTo(RECORDS);
        }
        try (JournalTail tail = open()) {
            readAll(tail);
        }
    }

    private static MessageBuffer request(int counter) {
        byte[] payload = new byte[64];
        return new MessageBuffer()
                .begin(MessageType.NAMED_CALL, MessageId.of(1, counter), 1, 2, payload.length, 0)
                .payload(payload, 0, payload.length);
    }

    /** What surfaces outside of the journal is not the journal's to deal with. */
    private void appendAfterAFault(Journal journal, MessageBuffer record) throws JournalFullException {
        long before = journal.size();
        try {
            meetAnother();
            journal.append(record, 1);
        } catch (InternalError e) {
            MappedFaults.surface();
            if (journal.size() == before) {
                journal.append(record, 1);
            }
        }
    }

    private void meetAnother() {
        try {
            other.read();
        } catch (InternalError e) {
            // told in time
        }
    }

    @Test
    void aTailGivesEachRecordOnce() {
        WrittenQueue.open(directory, JournalQueue.REQUESTS).requests(0, RECORDS).close();
        try (JournalTail tail = open()) {
            readAll(tail);
        }
    }

    private JournalTail open() {
        return JournalTail.open(JournalQueue.REQUESTS.in(directory), WrittenQueue.settings());
    }

    private void readAll(JournalTail tail) {
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        int read = 0;
        for (int i = 0; read < RECORDS && i < 3 * RECORDS; i++) {
            if (poll(tail, buffer) == Poll.RECORD) {
                assertThat(MessageId.counter(view.id())).isEqualTo(read++);
            }
        }
        assertThat(read).isEqualTo(RECORDS);
        assertThat(tail.isFaulted()).isFalse();
    }

    private Poll poll(JournalTail tail, MessageBuffer buffer) {
        Poll found = Poll.NONE;
        try {
            if (++polls % 5 == 0) {
                meetAnother();
            }
            boolean mayBeThere = tail.mayHaveNext(); // which the poll reports if it met the fault
            found = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            assertThat(mayBeThere || found == Poll.NONE)
                    .as("a look found nothing, and the poll after it %s", found)
                    .isTrue();
            MappedFaults.surface();
        } catch (InternalError | RuntimeException e) { // the second when it surfaced where Chronicle maps a file
            assertThat(MappedFaults.is(e)).isTrue();
        }
        return found;
    }

    /** Chronicle closes in a lock that all queues of the process share: a thread that a fault ends in there keeps it. */
    @Test
    void closingKeepsNothingLocked() throws Exception {
        WrittenQueue.open(directory, JournalQueue.REQUESTS).requests(0, 10).close();
        AtomicReference<String> came = new AtomicReference<>("some close waits for a lock that no living thread has");
        Thread closing = new Thread(() -> came.set(closeOften()), "closing");
        closing.setDaemon(true);
        closing.start();
        closing.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(came.get()).isEmpty();
    }

    private String closeOften() {
        for (int i = 0; i < CLOSES; i++) {
            JournalTail tail = open();
            meetAnother();
            try {
                tail.close();
            } catch (InternalError e) { // it surfaced on the way
                tail.close();
            }
        }
        return "";
    }

    @Test
    void aTailSaysThatItsOwnFileWasCut() throws IOException {
        WrittenQueue.open(directory, JournalQueue.REQUESTS).requests(0, 1000).close();
        MessageBuffer buffer = new MessageBuffer();
        for (long bytes : new long[] {70_000, 0}) {
            try (JournalTail tail = open();
                    Stream<Path> files = Files.list(JournalQueue.REQUESTS.in(directory))) {
                assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
                assertThat(tail.cut()).isEmpty();
                Path file = files.filter(path -> path.toString().endsWith(".cq4"))
                        .findFirst()
                        .orElseThrow();
                byte[] whole = Files.readAllBytes(file);
                try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw")) {
                    opened.setLength(bytes);
                    assertThat(tail.cut()).contains(file.getFileName() + "").contains(bytes + " bytes");
                    opened.write(whole);
                }
                assertThat(tail.cut()).isEmpty();
            }
        }
    }
}
