package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.device.DeviceSettings;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.host.WatchedSyncs;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.tensor.SentStorages;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.publish.QueueAppender;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.agrona.concurrent.AgentTerminationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is on the disk before peers are woken, and what follows a sync that fails. The worker's link is to itself. */
@Timeout(120)
class SyncerTest {

    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, 64 << 20, 64 << 10, 64 << 20);
    private static final int BYTES = 100;

    @TempDir
    private Path directory;

    private final List<Path> synced = new CopyOnWriteArrayList<>(); // files of queues, in order
    private final List<IOException> failures = new CopyOnWriteArrayList<>();
    private final FaultAlarm faults = new FaultAlarm(Host.real().threads());
    private final WorkerCounters counters = new WorkerCounters();
    private volatile WatchedSyncs.Watcher watcher = file -> {};
    private Host host;
    private WorkerDirectory worker;
    private Cursors cursors;
    private TensorTransit transit;
    private Links links;
    private QueueAppender requests;
    private QueueAppender responses;
    private Syncer syncer;
    private PeerLink link;

    @BeforeEach
    void open() throws Exception {
        host = WatchedSyncs.host(file -> {
            if (file.toString().endsWith(Roll.FILE_SUFFIX)) {
                synced.add(file);
                watcher.beforeSync(file);
            }
        });
        worker = Home.open(directory.resolve("home"), host).join("a");
        cursors = worker.cursors();
        transit = new TensorTransit(worker, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE);
        links = new Links(worker, true, SETTINGS, new PollPermit(faults), transit);
        requests = appender(JournalQueue.REQUESTS);
        responses = appender(JournalQueue.RESPONSES);
    }

    private QueueAppender appender(JournalQueue queue) throws IOException, JournalFullException {
        Path path = worker.subdirectory(queue.directoryName());
        Journal journal = JournalOpener.open(path, SETTINGS, host.clock(), new FileSpace(host.files()));
        return new QueueAppender(journal, false, SentStorages.NONE, faults, counters);
    }

    @AfterEach
    void close() throws IOException {
        watcher = file -> {};
        if (syncer != null) {
            syncer.close();
        }
        links.close();
        requests.close();
        responses.close();
        transit.close();
        worker.close();
    }

    private Syncer open(Durability durability) throws IOException {
        JournalSettings journal = SETTINGS.withDurability(durability).withSyncInterval(Duration.ofMillis(1));
        syncer = Syncer.openFor(new UpkeepContext(
                worker, journal, null, links, null, null, null, faults, requests, responses, counters));
        link = new LinkLookup(links, host, () -> false).require("a", 0, false);
        return syncer;
    }

    private void append(QueueAppender to) throws JournalFullException {
        MessageBuffer record = new MessageBuffer();
        record.begin(MessageType.userRequest(0x42), MessageId.of(worker.id(), 1), worker.id(), worker.id(), BYTES, 0)
                .sentNs(host.clock().wallNs())
                .payload(new byte[BYTES], 0, BYTES);
        to.lock();
        try {
            to.append(record, host.clock().wallNs());
        } finally {
            to.unlock();
        }
    }

    private static long end(QueueAppender of) {
        return of.journal().endIndex();
    }

    /** Returns how often the peer was notified of records, as it reads it. */
    private long announced() throws IOException {
        return PeerCursors.open(worker.path(), worker.id(), host.files())
                .slotFor(worker.id())
                .map(PeerCursorSlot::announced)
                .orElse(0L);
    }

    @Test
    void withoutDurabilityNothingIsSyncedAndPeersReadThatNothingIsKnown() throws Exception {
        cursors.requestsOnDisk(77);
        cursors.responsesOnDisk(77);
        append(requests);
        assertThat(open(Durability.PROCESS)).as("what syncs").isNull();
        long before = announced();
        link.announce(false);
        assertThat(synced).as("files that were synced").isEmpty();
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(Cursors.UNKNOWN);
        assertThat(cursors.responsesOnDiskBefore())
                .as("responses that are on the disk")
                .isEqualTo(Cursors.UNKNOWN);
        assertThat(announced()).as("notifications of the peer, without a sync").isEqualTo(before + 1);
    }

    @Test
    void whatEarlierIncarnationsWroteIsOnTheDiskOnceItIsOpen() throws Exception {
        append(requests);
        append(responses);
        open(Durability.EACH);
        assertThat(synced)
                .as("files that were synced")
                .contains(requests.journal().file(), responses.journal().file());
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(end(requests));
        assertThat(cursors.responsesOnDiskBefore())
                .as("responses that are on the disk")
                .isEqualTo(end(responses));
    }

    @Test
    void itDoesNotOpenWhenThatCanNotBeSynced() throws Exception {
        append(requests);
        append(responses);
        long before = cursors.requestsOnDiskBefore();
        watcher = failing("responses");
        assertThatThrownBy(() -> open(Durability.EACH), "the sync of what was written")
                .isInstanceOf(IOException.class);
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(before);
    }

    private static WatchedSyncs.Watcher failing(String queue) {
        return file -> {
            if (file.getParent().endsWith(queue)) {
                throw new IOException("planted");
            }
        };
    }

    @Test
    void aPeerIsNotifiedOnlyWhenItsRecordIsOnTheDisk() throws Exception {
        open(Durability.EACH);
        long before = announced();
        append(requests);
        link.announce(false);
        assertThat(announced()).as("notifications before the sync").isEqualTo(before);
        List<Long> during = new ArrayList<>();
        watcher = file -> during.add(announced());
        assertThat(syncer.doWork()).as("work that was done").isPositive();
        assertThat(during).as("notifications at each sync").isNotEmpty().containsOnly(before);
        assertThat(announced()).as("notifications after the sync").isEqualTo(before + 1);
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(end(requests));
        assertThat(syncer.doWork()).as("work without another record").isZero();
    }

    @Test
    void aRecordThatIsWrittenDuringASyncWaitsForTheNextOne() throws Exception {
        open(Durability.EACH);
        long before = announced();
        append(requests);
        link.announce(false);
        long firstEnd = end(requests);
        watcher = file -> {
            watcher = other -> {};
            try {
                append(requests);
            } catch (JournalFullException e) {
                throw new IOException(e);
            }
            link.announce(false);
        };
        syncer.doWork();
        assertThat(end(requests)).as("the end of the requests").isGreaterThan(firstEnd);
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests of the first sync")
                .isEqualTo(firstEnd);
        assertThat(announced()).as("notifications after the first sync").isEqualTo(before + 1);
        assertThat(link.isUnannounced())
                .as("the second record is still to be announced")
                .isTrue();
        syncer.doWork();
        assertThat(cursors.requestsOnDiskBefore()).as("requests of both syncs").isEqualTo(end(requests));
        assertThat(announced()).as("notifications after both syncs").isEqualTo(before + 2);
    }

    @Test
    void theFirstFailureEndsItAndBothQueuesAndNotifiesNoPeer() throws Exception {
        open(Durability.EACH);
        watcher = failing("requests");
        syncer.start("a", host.threads(), failures::add);
        long before = announced();
        long onDisk = cursors.requestsOnDiskBefore();
        append(requests);
        link.announce(false);
        Waits.until("the failure is reported", () -> !failures.isEmpty());
        for (QueueAppender each : List.of(requests, responses)) {
            assertThatThrownBy(() -> append(each))
                    .as("a record for %s", each.journal().directory())
                    .isInstanceOf(JournalFailedException.class);
        }
        watcher = file -> {};
        int attempts = synced.size();
        assertThatThrownBy(() -> syncer.doWork(), "another turn").isInstanceOf(AgentTerminationException.class);
        syncer.close();
        assertThat(synced).as("syncs, with those after the failure").hasSize(attempts);
        assertThat(failures).as("reports of the failure").hasSize(1);
        assertThat(announced())
                .as("notifications of the record that is not on the disk")
                .isEqualTo(before);
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(onDisk);
    }

    @Test
    void itsThreadSyncsWhatManyThreadsWriteAndItsCloseTheRest() throws Exception {
        open(Durability.EACH);
        syncer.start("a", host.threads(), failures::add);
        List<Thread> writing = new ArrayList<>();
        for (QueueAppender to : List.of(requests, responses, requests, responses)) {
            writing.add(host.threads().start("writes", () -> {
                try {
                    for (int i = 0; i < 50; i++) {
                        append(to);
                        link.announce(false);
                    }
                } catch (JournalFullException e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
        for (Thread thread : writing) {
            thread.join();
        }
        Waits.until(
                "all records are on the disk, and announced",
                () -> cursors.requestsOnDiskBefore() == end(requests)
                        && cursors.responsesOnDiskBefore() == end(responses)
                        && !link.isUnannounced());
        append(requests);
        syncer.close();
        assertThat(cursors.requestsOnDiskBefore())
                .as("requests that are on the disk")
                .isEqualTo(end(requests));
        assertThat(failures).as("failures").isEmpty();
    }
}
