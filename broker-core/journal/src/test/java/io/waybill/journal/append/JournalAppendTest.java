package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An append that throws has published nothing. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class JournalAppendTest {

    private static final int BEFORE = 10;

    @TempDir
    Path worker;

    private Path queue;
    private Journal journal;

    @BeforeEach
    void write() throws Exception {
        queue = Files.createDirectory(JournalQueue.REQUESTS.in(worker));
        journal = JournalOpener.open(queue, WrittenQueue.settings(), WrittenQueue.HOST.clock(), new UnreservedDisk());
        for (int i = 0; i < BEFORE; i++) {
            append(i);
        }
    }

    private void open() throws JournalFullException {
        journal = JournalOpener.open(queue, WrittenQueue.settings(), WrittenQueue.HOST.clock(), new UnreservedDisk());
    }

    @AfterEach
    void close() {
        journal.close();
    }

    private void append(int counter) throws JournalFullException {
        append(counter, 64);
    }

    private void append(int counter, int payloadLength) throws JournalFullException {
        MessageBuffer record = new MessageBuffer();
        record.begin(MessageType.NAMED_CALL, MessageId.of(1, counter), 1, 2, payloadLength, 0)
                .payload(new byte[payloadLength], 0, payloadLength);
        journal.append(record, 1);
    }

    /** The counters of all that a tail and a reader of the files find; both find the same, and nothing damaged. */
    private List<Long> published() throws IOException {
        List<Long> byTail = new ArrayList<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView record = new RecordView(buffer);
        try (JournalTail tail = JournalTail.open(queue, WrittenQueue.settings())) {
            Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (poll != Poll.NONE) {
                assertThat(poll).as(tail::damage).isEqualTo(Poll.RECORD);
                byTail.add(MessageId.counter(record.id()));
                poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
        List<Long> byReader = new ArrayList<>();
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), WrittenQueue.settings())) {
            Step step = reader.next();
            while (step != Step.END) {
                assertThat(step).as(() -> reader.damage().text()).isEqualTo(Step.RECORD);
                byReader.add(MessageId.counter(reader.record().id()));
                step = reader.next();
            }
        }
        assertThat(byTail).isEqualTo(byReader);
        return byTail;
    }

    /** Takes away what the append needs between the copy of the record and its publication, and gives it back. */
    private void appendWithAFailure(int counter) throws Exception {
        Field needed = Journal.class.getDeclaredField("touchable");
        needed.setAccessible(true);
        Object before = needed.get(journal);
        needed.set(journal, null);
        try {
            assertThatThrownBy(() -> append(counter)).isInstanceOf(RuntimeException.class);
        } finally {
            needed.set(journal, before);
        }
    }

    @Test
    void leavesNothingOfARecordWhoseAppendFailedInTheMidst() throws Exception {
        appendWithAFailure(77);
        assertThat(published())
                .as("what was published, when the append of 77 threw")
                .isEqualTo(LongStream.range(0, BEFORE).boxed().toList());
        assertThat(journal.size()).isEqualTo(BEFORE);

        journal.close();
        open();
        append(BEFORE);

        assertThat(published())
                .as("what was published with an append of the next life behind the one that threw")
                .isEqualTo(LongStream.rangeClosed(0, BEFORE).boxed().toList());
    }

    @Test
    void refusesARecordThatIsTooLargeBeforeItWritesAnyOfIt() throws Exception {
        assertThatThrownBy(() -> append(77, WrittenQueue.settings().maxRecordBytes()))
                .isInstanceOf(IllegalArgumentException.class);
        append(BEFORE);
        assertThat(published())
                .isEqualTo(LongStream.rangeClosed(0, BEFORE).boxed().toList());
    }

    @Test
    void takesNothingOnceItFailed() throws Exception {
        journal.fail(new IOException("the disk"));
        assertThatThrownBy(() -> append(77))
                .isInstanceOf(JournalFailedException.class)
                .hasMessageContaining("the disk");
        assertThat(published()).isEqualTo(LongStream.range(0, BEFORE).boxed().toList());
    }
}
