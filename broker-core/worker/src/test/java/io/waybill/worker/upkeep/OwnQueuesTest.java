package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.LostFileException;
import io.waybill.journal.Roll;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.publish.QueueAppender;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker's own queues: what is noted of them in the cursors, and what happens when one of their files is lost. */
@Timeout(60)
class OwnQueuesTest {

    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, 64 << 20, 64 << 10, 64 << 20);
    private static final Duration LOOK = Duration.ofSeconds(1);

    private static final long FIRST_COUNTER = 100;

    @TempDir
    private Path directory;

    private final AtomicLong aheadNs = new AtomicLong();
    private final Host host = Host.real()
            .withClock(new ForwardingClock(Host.real().clock()) {
                @Override
                public long monotonicNs() {
                    return aheadNs.get();
                }
            });
    private final PendingCalls pending = new PendingCalls(3, 4, FIRST_COUNTER);
    private final WorkerCounters counters = new WorkerCounters();
    private final FaultAlarm faults = new FaultAlarm(host.threads());
    private WorkerDirectory worker;
    private Cursors cursors;
    private QueueAppender requests;
    private QueueAppender responses;
    private OwnQueues queues;

    @BeforeEach
    void open() throws Exception {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        cursors = worker.cursors();
        requests = appender(JournalQueue.REQUESTS);
        responses = appender(JournalQueue.RESPONSES);
        queues = new OwnQueues(worker, pending, requests, responses);
    }

    private QueueAppender appender(JournalQueue queue) throws IOException, JournalFullException {
        worker.subdirectory(queue.directoryName());
        Journal journal =
                JournalOpener.open(queue.in(worker.path()), SETTINGS, host.clock(), new FileSpace(host.files()));
        return new QueueAppender(journal, false, SentStorages.NONE, faults, counters);
    }

    @AfterEach
    void close() throws IOException {
        requests.close();
        responses.close();
        worker.close();
    }

    private long append(QueueAppender to, int payload) throws JournalFullException {
        MessageBuffer record = new MessageBuffer();
        record.begin(MessageType.userRequest(0x42), MessageId.of(worker.id(), 1), worker.id(), worker.id(), payload, 0)
                .sentNs(host.clock().wallNs())
                .payload(new byte[payload], 0, payload);
        return to.append(record, host.clock().wallNs());
    }

    private void turnAfter(Duration passed) throws LostFileException {
        aheadNs.addAndGet(passed.toNanos());
        queues.turn();
    }

    @Test
    void theEndOfEachQueueIsNotedAndTheNextId() throws Exception {
        append(requests, 10);
        append(requests, 10);
        append(responses, 10);
        queues.note();
        assertThat(cursors.requests().nextSequence())
                .as("the sequence number of the next request")
                .isEqualTo(requests.journal().written().nextSequence());
        assertThat(cursors.requests().endIndex())
                .as("the position after the last request")
                .isEqualTo(requests.journal().written().endIndex());
        assertThat(cursors.responses().endIndex())
                .as("the position after the last response")
                .isEqualTo(responses.journal().written().endIndex());
        assertThat(cursors.responses().endIndex())
                .as("of a queue with fewer records than the other")
                .isLessThan(cursors.requests().endIndex());
        assertThat(cursors.nextCounter()).as("the counter of the next id").isEqualTo(FIRST_COUNTER);
    }

    @Test
    void aQueueWithoutARecordIsNotNoted() throws Exception {
        long before = cursors.responses().endIndex();
        append(requests, 10);
        queues.note();
        assertThat(cursors.responses().endIndex())
                .as("the position of the queue without a record")
                .isEqualTo(before);
    }

    @Test
    void theNextIdNeverBecomesSmaller() {
        long more = FIRST_COUNTER + 1000;
        cursors.nextCounter(more);
        queues.note();
        assertThat(cursors.nextCounter()).as("the counter of the next id").isEqualTo(more);
    }

    @Test
    void theCursorsAreWrittenFromTimeToTime() throws Exception {
        queues.turn();
        append(requests, 10);
        turnAfter(Duration.ofMillis(50));
        assertThat(cursors.requests().endIndex())
                .as("what is noted too early")
                .isNotEqualTo(requests.journal().written().endIndex());
        turnAfter(Duration.ofMillis(50));
        assertThat(cursors.requests().endIndex())
                .as("what is noted when it is time")
                .isEqualTo(requests.journal().written().endIndex());
    }

    @Test
    void aLostFileOfOneQueueEndsBothAndIsReportedOnce() throws Exception {
        append(requests, 10);
        append(responses, 10);
        turnAfter(LOOK);
        Files.delete(responses.journal().file());
        assertThatThrownBy(() -> turnAfter(LOOK), "the next look at the files")
                .isInstanceOf(LostFileException.class)
                .hasMessageContaining(responses.journal().directory().toString());
        for (QueueAppender each : new QueueAppender[] {requests, responses}) {
            assertThatThrownBy(() -> append(each, 10))
                    .as("a record for %s", each.journal().directory())
                    .isInstanceOf(JournalFailedException.class);
        }
        assertThatCode(() -> turnAfter(LOOK)).as("the turn after the report").doesNotThrowAnyException();
    }

    @Test
    void aFileThatWasCutShortIsLost() throws Exception {
        append(requests, 10);
        append(responses, 10);
        turnAfter(LOOK);
        Path file = requests.journal().file();
        try (var channel = host.files().openOwn(file)) {
            channel.truncate(1);
        }
        assertThatThrownBy(() -> turnAfter(LOOK), "the next look at the files")
                .isInstanceOf(LostFileException.class)
                .hasMessageContaining(requests.journal().directory().toString());
    }

    @Test
    void cursorsThatWereRemovedAreLost() throws Exception {
        append(requests, 10);
        turnAfter(LOOK);
        Files.delete(worker.path().resolve("cursors"));
        assertThatThrownBy(() -> turnAfter(LOOK), "the next look at the files")
                .isInstanceOf(LostFileException.class)
                .hasMessageContaining("cursors");
    }

    @Test
    void aFaultOfAMappedFileIsALostFile() throws Exception {
        append(requests, 10);
        turnAfter(LOOK);
        requests.journal().fail(new InternalError("planted"));
        assertThatThrownBy(() -> turnAfter(LOOK), "the next look at the files")
                .isInstanceOf(LostFileException.class)
                .hasMessageContaining("can't be written: planted");
    }

    @Test
    void theEndsAreNotedAlsoWhenAFileIsLost() throws Exception {
        append(requests, 10);
        append(responses, 10);
        long endIndex = requests.journal().written().endIndex();
        Files.delete(responses.journal().file());
        assertThatThrownBy(() -> turnAfter(LOOK), "the next look at the files").isInstanceOf(LostFileException.class);
        assertThat(cursors.requests().endIndex())
                .as("the position after the last request")
                .isEqualTo(endIndex);
    }

    private long allocated() throws IOException {
        return host.files().allocatedBytes(requests.journal().file());
    }

    private void growReserve() throws JournalFullException {
        for (int i = 0; i < 20; i++) {
            append(requests, 60_000);
            append(requests, 60_000);
            append(requests, 60_000);
            requests.journal().topUp();
        }
    }

    @Test
    void theReserveShrinksAfterARestAndNotBefore() throws Exception {
        growReserve();
        turnAfter(LOOK);
        long grown = allocated();
        turnAfter(Duration.ofSeconds(9));
        assertThat(allocated()).as("what is reserved after a short rest").isEqualTo(grown);
        append(requests, 10);
        turnAfter(Duration.ofSeconds(2));
        turnAfter(Duration.ofSeconds(9));
        assertThat(allocated())
                .as("what is reserved after a rest with a record in it")
                .isEqualTo(grown);
        turnAfter(Duration.ofSeconds(2));
        assertThat(allocated()).as("what is reserved after a rest").isLessThan(grown);
    }
}
