package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.device.DeviceSettings;
import io.waybill.home.Home;
import io.waybill.home.Succession;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
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
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls to a peer that has ended: for how long they wait for its return, and when they are failed. */
@Timeout(60)
class AwaitedReturnsTest {

    private static final JournalSettings JOURNAL = new JournalSettings(Roll.HOURLY, 1 << 20, 256 << 10, 1 << 20);
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final long LIMIT_NS = LIMIT.toNanos();
    private static final long NOW_NS = 1_000_000_000;
    private static final int CALL_BYTES = 8;

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
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final List<PeerLink> ended = new ArrayList<>();
    private final List<PeerLink> left = new ArrayList<>();
    private Home home;
    private Links links;
    private AwaitedReturns returns;
    private WorkerDirectory peer;

    @BeforeEach
    void open() throws Exception {
        home = Home.open(directory.resolve("home"), host);
        WorkerDirectory own = home.join("own");
        opened.add(own);
        TensorTransit transit = new TensorTransit(own, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE);
        opened.add(transit);
        // without requests of others: such a worker links again only to peers that it awaits
        links = new Links(own, false, JOURNAL, new PollPermit(new FaultAlarm(host.threads())), transit);
        opened.add(links::close);
        returns = new AwaitedReturns(links, LIMIT);
    }

    @AfterEach
    void close() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    private void join() throws IOException, JournalFullException {
        peer = home.join("peer");
        opened.add(peer);
        for (JournalQueue queue : JournalQueue.values()) {
            Path path = peer.subdirectory(queue.directoryName());
            Journal journal = JournalOpener.open(path, JOURNAL, host.clock(), UnreservedDisk.by(WrittenQueue::reserve));
            opened.add(journal::close);
        }
        peer.publish(WorkerState.READY, List.of(), Map.of());
        refresh();
    }

    private void refresh() throws IOException {
        aheadNs.addAndGet(Duration.ofSeconds(1).toNanos()); // all checks are due
        links.refresh();
    }

    /** Ends the peer, which leaves nothing to a successor. */
    private void end() throws IOException {
        peer.close();
        refresh();
    }

    /** Returns the link to a peer that has ended, with a call in flight. */
    private PeerLink endedPeer() throws IOException, JournalFullException {
        PeerLink link = calledPeer();
        end();
        assertThat(link.condition()).as("the link to the peer").isEqualTo(PeerLink.Condition.LEFT);
        assertThat(link.mayBeSucceeded()).as("whether it may be succeeded").isFalse();
        return link;
    }

    private PeerLink calledPeer() throws IOException, JournalFullException {
        join();
        PeerLink link = new LinkLookup(links, host, () -> false).require("peer", 0, false);
        link.flow().sent(CALL_BYTES);
        return link;
    }

    private void look(long nowNs) {
        returns.look(nowNs, ended::add, left::add);
    }

    @Test
    void callsAreFailedOnceWhenThePeerDoesNotReturnInTime() throws Exception {
        PeerLink link = endedPeer();
        assertThat(returns.isEmpty()).as("whether no peer is awaited at first").isTrue();
        returns.await(link, NOW_NS);
        assertThat(returns.isEmpty()).as("whether no peer is awaited").isFalse();
        look(NOW_NS);
        look(NOW_NS + LIMIT_NS - 1);
        assertThat(ended).as("peers whose calls are failed before the limit").isEmpty();
        long nextNs = returns.nextNs();
        assertThat(nextNs).as("the time of the next look").isBetween(NOW_NS + LIMIT_NS, NOW_NS + LIMIT_NS + 10_000_000);
        look(nextNs);
        assertThat(ended).as("peers whose calls are failed").containsExactly(link);
        assertThat(returns.isEmpty())
                .as("whether no peer is awaited afterwards")
                .isTrue();
        assertThat(returns.nextNs()).as("the time of the next look").isEqualTo(Long.MAX_VALUE);
        look(nextNs + LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed, later").hasSize(1);
        assertThat(left).as("peers that left calls to a successor").isEmpty();
    }

    @Test
    void aPeerWhoseCallsHaveTheirOutcomesIsNotAwaitedAnyMore() throws Exception {
        PeerLink link = endedPeer();
        returns.await(link, NOW_NS);
        link.flow().completed(CALL_BYTES);
        look(NOW_NS);
        assertThat(returns.isEmpty()).as("whether no peer is awaited").isTrue();
        look(NOW_NS + LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed").isEmpty();
    }

    @Test
    void callsWaitWhileThePeerIsBackAndHaveTheWholeLimitWhenItEndsAgain() throws Exception {
        PeerLink link = endedPeer();
        returns.await(link, NOW_NS);
        look(NOW_NS);
        join();
        assertThat(links.find(link.id()))
                .as("the link to the awaited incarnation")
                .isPresent();
        long backNs = NOW_NS + LIMIT_NS / 2;
        look(backNs);
        look(backNs + 5 * LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed while it is back").isEmpty();
        end();
        long againNs = backNs + 6 * LIMIT_NS;
        look(againNs);
        look(againNs + LIMIT_NS - 1);
        assertThat(ended)
                .as("peers whose calls are failed before the limit has passed again")
                .isEmpty();
        look(returns.nextNs());
        assertThat(ended).as("peers whose calls are failed").containsExactly(link);
    }

    @Test
    void aPeerThatIsNotAwaitedAnyMoreIsNotLinkedAgain() throws Exception {
        PeerLink link = endedPeer();
        returns.await(link, NOW_NS);
        look(NOW_NS + LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed").containsExactly(link);
        join();
        assertThat(links.find(link.id())).as("the link to the next incarnation").isEmpty();
    }

    @Test
    void eachAwaitedIncarnationHasItsOwnLimit() throws Exception {
        PeerLink first = endedPeer();
        returns.await(first, NOW_NS);
        look(NOW_NS);
        PeerLink second = endedPeer();
        assertThat(second.epoch()).as("the epoch of the second").isGreaterThan(first.epoch());
        long laterNs = NOW_NS + LIMIT_NS / 2;
        returns.await(second, laterNs);
        look(NOW_NS + LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed first").containsExactly(first);
        look(laterNs + LIMIT_NS);
        assertThat(ended).as("peers whose calls are failed").containsExactly(first, second);
    }

    @Test
    void callsThatWereLeftToASuccessorAreFailedWhenNoneComes() throws Exception {
        PeerLink link = calledPeer();
        peer.leave(LIMIT);
        refresh();
        assertThat(link.mayBeSucceeded()).as("whether it may be succeeded").isTrue();
        long untilNs = link.succeededUntilNs() + Succession.GRACE_NS;
        returns.await(link, untilNs - LIMIT_NS);
        look(untilNs - LIMIT_NS);
        look(untilNs);
        assertThat(left)
                .as("peers whose calls are failed while a successor may come")
                .isEmpty();
        assertThat(ended)
                .as("peers all of whose calls are failed while a successor may come")
                .isEmpty();
        look(untilNs + LIMIT_NS);
        assertThat(left).as("peers whose calls are failed without a successor").containsExactly(link);
        assertThat(ended).as("peers all of whose calls are failed").containsExactly(link);
        assertThat(returns.isEmpty()).as("whether no peer is awaited").isTrue();
    }
}
