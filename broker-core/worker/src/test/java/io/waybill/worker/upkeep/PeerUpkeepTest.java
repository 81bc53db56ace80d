package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.broker.Brokers;
import io.waybill.broker.TestBackend;
import io.waybill.device.DeviceSettings;
import io.waybill.home.Home;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.host.ChangeWatch;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.PollPermit;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The workers of a home that come, go, and lose their files, as another one sees them. */
@Timeout(60)
class PeerUpkeepTest {

    private static final JournalSettings JOURNAL = new JournalSettings(Roll.HOURLY, 1 << 20, 256 << 10, 1 << 20);
    private static final long SECOND_NS = 1_000_000_000;

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
    private final FaultAlarm faults = new FaultAlarm(host.threads());
    private final AtomicInteger looks = new AtomicInteger();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private Home home;
    private WorkerDirectory own;
    private Links links;
    private PeerUpkeep upkeep;

    @BeforeEach
    void open() throws Exception {
        home = Home.open(directory.resolve("home"), host);
        own = join("own");
        TensorTransit transit = new TensorTransit(own, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE);
        opened.add(transit);
        links = new Links(own, true, JOURNAL, new PollPermit(faults), transit);
        opened.add(links::close);
        Brokers brokers = new Brokers(
                new TestBackend() {
                    @Override
                    public List<Peer> peers() {
                        looks.incrementAndGet();
                        return links.members();
                    }
                },
                host);
        opened.add(brokers);
        ChangeWatch changes = ChangeWatch.open(host.calls(), home.presentPath());
        opened.add(changes);
        UpkeepContext context =
                new UpkeepContext(own, JOURNAL, null, links, null, null, null, faults, null, null, null);
        upkeep = new PeerUpkeep(context, changes, brokers, transit);
    }

    @AfterEach
    void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    /** Joins with queues on disk, so that others can link to it. */
    private WorkerDirectory join(String name) throws IOException, JournalFullException {
        WorkerDirectory joined = home.join(name);
        opened.add(joined);
        for (JournalQueue queue : JournalQueue.values()) {
            Path path = joined.subdirectory(queue.directoryName());
            Journal journal = JournalOpener.open(path, JOURNAL, host.clock(), UnreservedDisk.by(WrittenQueue::reserve));
            opened.add(journal::close);
        }
        joined.publish(WorkerState.READY, List.of(), Map.of());
        return joined;
    }

    private void look() {
        aheadNs.addAndGet(SECOND_NS); // all checks are due
        upkeep.look();
    }

    private List<String> seen() {
        return links.members().stream().map(Peer::name).toList();
    }

    private PeerLink linkTo(String name) {
        return new LinkLookup(links, host, () -> false).require(name, 0, false);
    }

    @Test
    void workersThatComeAndGoAreSeen() throws Exception {
        look();
        assertThat(seen()).as("the workers at first").containsExactly("own");
        WorkerDirectory peer = join("peer");
        look();
        assertThat(seen()).as("the workers after one came").containsExactlyInAnyOrder("own", "peer");
        PeerLink link = linkTo("peer");
        assertThat(link.condition()).as("the link to it").isEqualTo(PeerLink.Condition.OPEN);
        peer.leave();
        look();
        assertThat(seen()).as("the workers after one left").containsExactly("own");
        assertThat(link.condition()).as("the link to it").isEqualTo(PeerLink.Condition.LEFT);
    }

    @Test
    void theBrokersLookAtThePeersAfterTheScan() throws Exception {
        look();
        assertThat(looks).as("looks of the brokers").hasValue(1);
        look();
        assertThat(looks).as("looks of the brokers, also without a change").hasValue(2);
    }

    @Test
    void anUnreadableHomeMayBecomeReadableAgain() throws Exception {
        look();
        assertThat(upkeep.isUnreadable())
                .as("whether the home is unreadable at first")
                .isFalse();
        Path away = directory.resolve("away");
        Files.move(home.presentPath(), away);
        Files.createFile(home.presentPath());
        look();
        assertThat(upkeep.isUnreadable())
                .as("whether a home with a file in place of its list of workers is unreadable")
                .isTrue();
        assertThat(seen()).as("the workers as they were seen last").containsExactly("own");
        look();
        assertThat(upkeep.isUnreadable()).as("whether it still is").isTrue();
        assertThat(looks).as("looks of the brokers, which had nothing new").hasValue(1);
        Files.delete(home.presentPath());
        Files.move(away, home.presentPath());
        join("peer");
        look();
        assertThat(upkeep.isUnreadable())
                .as("whether it is unreadable when all is back")
                .isFalse();
        assertThat(seen()).as("the workers after it is back").containsExactlyInAnyOrder("own", "peer");
    }

    /** Cuts a file until the test ends: its owner writes to it when it leaves. */
    private void cut(Path file) throws IOException {
        long size = Files.size(file);
        resize(file, 0);
        opened.add(() -> resize(file, size));
    }

    private static void resize(Path file, long size) throws IOException {
        try (RandomAccessFile resized = new RandomAccessFile(file.toFile(), "rw")) {
            resized.setLength(size);
        }
    }

    @Test
    void aMappedFileThatWasCutRaisesTheAlarm() throws Exception {
        WorkerDirectory peer = join("peer");
        join("other");
        look();
        linkTo("other");
        linkTo("peer");
        upkeep.lookAtFiles();
        assertThat(faults.isRaised()).as("the alarm while all files are whole").isFalse();
        cut(peer.path().resolve("cursors"));
        upkeep.lookAtFiles();
        assertThat(faults.isRaised())
                .as("the alarm after a peer's cursors were cut")
                .isTrue();
        faults.lower();
        upkeep.lookAtFiles();
        assertThat(faults.isRaised()).as("the alarm while the file stays so").isTrue();
    }

    @Test
    void filesOfAPeerThatLeftRaiseNoAlarm() throws Exception {
        WorkerDirectory peer = join("peer");
        look();
        linkTo("peer");
        peer.leave();
        look();
        cut(peer.path().resolve("cursors"));
        upkeep.lookAtFiles();
        assertThat(faults.isRaised()).as("the alarm").isFalse();
    }

    @Test
    void filesOfAPeerWithoutALinkRaiseNoAlarm() throws Exception {
        WorkerDirectory peer = join("peer");
        look();
        cut(peer.path().resolve("cursors"));
        upkeep.lookAtFiles();
        assertThat(faults.isRaised()).as("the alarm").isFalse();
    }
}
