package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.error.HomeException;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.Links;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.ParkedRequests;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the housekeeper does for a worker's own queues. */
@Timeout(60)
class JournalUpkeepTest {

    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, 4 << 20, 64 << 10, 1 << 20);

    @TempDir
    private Path directory;

    private final AtomicLong aheadNs = new AtomicLong();
    private final Host host = Host.real()
            .withClock(new ForwardingClock(Host.real().clock()) {
                @Override
                public long monotonicNs() {
                    return super.monotonicNs() + aheadNs.get();
                }
            });
    private final WorkerCounters counters = new WorkerCounters();
    private final FaultAlarm faults = new FaultAlarm(host.threads());
    private WorkerDirectory worker;
    private Links links;
    private Journal requests;
    private Journal responses;
    private JournalUpkeep upkeep;

    @BeforeEach
    void open() throws Exception {
        worker = Home.open(directory.resolve("home"), host).join("a", JoinOptions.defaults());
        requests = journal(JournalQueue.REQUESTS);
        responses = journal(JournalQueue.RESPONSES);
        links = new Links(worker, true, SETTINGS, new PollPermit(faults), null);
        PendingCalls pending = new PendingCalls(worker.id(), 4, 0);
        QueueAppender asking = new QueueAppender(requests, false, SentStorages.NONE, faults, counters);
        QueueAppender responding = new QueueAppender(responses, true, SentStorages.NONE, faults, counters);
        UpkeepContext context = new UpkeepContext(
                worker, SETTINGS, null, links, pending, null, null, faults, asking, responding, counters);
        upkeep = new JournalUpkeep(
                context,
                new OwnQueues(worker, pending, asking, responding),
                new LowWatermarks(links, new OpenRequests(), new ParkedRequests(), responding));
    }

    private Journal journal(JournalQueue queue) throws IOException, JournalFullException {
        worker.subdirectory(queue.directoryName());
        return JournalOpener.open(queue.in(worker.path()), SETTINGS, host.clock(), new FileSpace(host.files()));
    }

    @AfterEach
    void close() throws IOException {
        links.close();
        requests.close();
        responses.close();
        worker.close();
    }

    private void append(int payload) throws JournalFullException {
        MessageBuffer record = new MessageBuffer();
        record.begin(MessageType.userRequest(0x42), MessageId.of(worker.id(), 1), worker.id(), worker.id(), payload, 0)
                .sentNs(host.clock().wallNs())
                .payload(new byte[payload], 0, payload);
        requests.append(record, host.clock().wallNs());
    }

    @Test
    void saysHowMuchWasWrittenSinceTheLastTurn() throws Exception {
        upkeep.grown();
        assertThat(upkeep.grown()).as("without a record").isZero();
        append(1000);
        upkeep.grown(); // with what the first record in a file takes
        append(1000);
        assertThat(upkeep.grown()).as("with one of 1000 bytes").isBetween(1000L, 2000L);
        assertThat(upkeep.grown()).as("afterwards").isZero();
    }

    @Test
    void goesOnWhileTheFilesAreThere() throws Exception {
        append(1000);
        for (int turn = 0; turn < 3; turn++) {
            aheadNs.addAndGet(Duration.ofSeconds(1).toNanos());
            upkeep.requireWhole();
            upkeep.topUp();
            upkeep.prepare();
        }
        assertThat(upkeep.isDiskFull()).isFalse();
        assertThat(worker.cursors().requests().endIndex())
                .as("the position after the last record, for a later incarnation")
                .isPositive();
    }

    @Test
    void saysWhichFileIsLost() throws Exception {
        append(1000);
        Path queue = JournalQueue.REQUESTS.in(worker.path());
        try (DirectoryStream<Path> files = Files.newDirectoryStream(queue, "*.cq4")) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        aheadNs.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThatThrownBy(upkeep::requireWhole)
                .isInstanceOf(HomeException.class)
                .hasMessageContaining("one of its files is lost")
                .hasMessageContaining(queue.toString());
        assertThatThrownBy(() -> append(10)).as("a record behind that").isInstanceOf(Exception.class);
    }
}
