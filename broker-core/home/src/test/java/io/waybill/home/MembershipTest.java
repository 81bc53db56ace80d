package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ManualClock;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.ProcessWatch;
import io.waybill.host.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MembershipTest {
    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    private Home home;
    private Membership membership;

    @BeforeEach
    void openHome() throws IOException {
        home = Home.open(dir.resolve("home"), HOST);
        membership = new Membership(home);
    }

    private PeerState stateOf(String name) throws IOException {
        membership.refresh();
        return membership.members().find(name).orElseThrow().state();
    }

    @Test
    void followsAWorkerThroughItsIncarnation() throws IOException {
        membership.refresh();
        assertThat(membership.members().all()).isEmpty();

        WorkerDirectory worker = home.join("ps0");
        assertThat(stateOf("ps0")).isEqualTo(PeerState.STARTING);
        worker.publish(WorkerState.READY, List.of("text.count"), Map.of());
        assertThat(stateOf("ps0")).isEqualTo(PeerState.READY);
        Peer peer = membership.members().find(worker.id()).orElseThrow();
        assertThat(peer.record()).contains(worker.record());
        assertThat(peer.path()).isEqualTo(worker.path());
        assertThat(peer.epoch()).isEqualTo(1);
        worker.leave();
        assertThat(stateOf("ps0")).isEqualTo(PeerState.LEFT);
        try (WorkerDirectory again = home.join("ps0")) {
            assertThat(stateOf("ps0")).isEqualTo(PeerState.STARTING);
            assertThat(membership.members().find("ps0").orElseThrow().epoch()).isEqualTo(again.epoch());
        }
    }

    @Test
    void saysWhetherAnythingChanged() throws IOException {
        try (WorkerDirectory worker = home.join("ps0")) {
            assertThat(membership.refresh()).isTrue();
            Members before = membership.members();
            assertThat(membership.refresh()).isFalse();
            assertThat(membership.members()).isSameAs(before);
            worker.publish(WorkerState.READY, List.of(), Map.of());
            assertThat(membership.refresh()).isTrue();
        }
    }

    @Test
    void noticesEachOfManyQuickChanges() throws IOException {
        try (WorkerDirectory worker = home.join("ps0")) {
            for (int i = 0; i < 200; i++) {
                worker.publish(WorkerState.READY, List.of(), Map.of("n", String.valueOf(i % 10)));
                membership.refresh();
                assertThat(membership.members().find("ps0").orElseThrow().record())
                        .contains(worker.record());
            }
        }
    }

    @Test
    void looksAtThoseAloneThatTheHostReports() throws IOException {
        ManualClock clock = new ManualClock();
        try (ChangeWatch changes = ChangeWatch.open(HOST.calls(), home.presentPath());
                WorkerDirectory worker = home.join("ps0");
                WorkerDirectory still = home.join("still");
                Membership notified = Membership.present(Home.open(home.path(), HOST.withClock(clock)))) {
            assertThat(changes.seesDirectory()).isTrue();
            notified.changesEnd(changes);
            still.publish(WorkerState.LEFT, List.of(), Map.of()); // those that left are looked at least
            notified.refresh();
            for (Path record : List.of(worker.path(), still.path())) {
                Files.writeString(record.resolve("worker.json"), "{}");
            }

            worker.publish(WorkerState.READY, List.of(), Map.of());
            notified.refresh();
            clock.advance(Duration.ofSeconds(20));
            assertThat(notified.refresh()).isFalse();
            assertThat(notified.members().find("ps0").orElseThrow().state())
                    .as("a worker that was reported")
                    .isEqualTo(PeerState.READY);
            assertThat(notified.members().find("still").orElseThrow().state())
                    .as("a worker of whom nothing was reported is not looked at")
                    .isEqualTo(PeerState.LEFT);

            clock.advance(Duration.ofSeconds(20));
            notified.refresh();
            assertThat(notified.members().find("still").orElseThrow().state())
                    .as("all are looked at in the end")
                    .isEqualTo(PeerState.UNREADABLE);
            still.publish(WorkerState.READY, List.of(), Map.of());
            try (WorkerDirectory other = home.join("other")) {
                notified.refresh();
                assertThat(notified.members().all()).hasSize(3);
                assertThat(notified.members().find("still").orElseThrow().state())
                        .isEqualTo(PeerState.READY);
                assertThat(notified.members().find("other").orElseThrow().path())
                        .isEqualTo(other.path());
            }
        }
    }

    @Test
    void ofThosePresentReadsNothingOfWorkersThatLeftButFindsThem() throws IOException {
        WorkerDirectory dead = home.join("dead");
        dead.abandon();
        try (ChangeWatch changes = ChangeWatch.open(HOST.calls(), home.presentPath());
                Membership present = Membership.present(home);
                WorkerDirectory there = home.join("there")) {
            present.changesEnd(changes);
            WorkerDirectory left = home.join("left");
            present.refresh();
            assertThat(present.members().all()).extracting(Peer::name).containsExactly("dead", "there", "left");

            left.leave();
            present.refresh();
            assertThat(present.members().all()).extracting(Peer::name).containsExactly("dead", "there");
            assertThat(present.find("left").orElseThrow().state()).isEqualTo(PeerState.LEFT);
            assertThat(present.find(left.id()).orElseThrow().epoch()).isEqualTo(left.epoch());
            assertThat(present.find("never")).isEmpty();
            assertThat(present.find("no name")).isEmpty();
            assertThat(present.findByNameOrId(String.valueOf(there.id()))
                            .orElseThrow()
                            .name())
                    .isEqualTo("there");
            assertThat(present.everJoined()).isEqualTo(3);

            Files.writeString(left.path().resolve("worker.json"), "{}");
            try (Membership later = Membership.present(home)) {
                later.refresh();
                assertThat(later.members().all())
                        .as("the record of one that left, which does not read, was not looked at")
                        .extracting(Peer::name)
                        .containsExactly("dead", "there");
            }
            assertThat(present.find("left").orElseThrow().state()).isEqualTo(PeerState.UNREADABLE);
        }
    }

    @Test
    void ofThosePresentSeesAWorkerThatJoinsAgainAndOneWhoseMarkWasRemoved() throws IOException {
        home.join("ps0").leave();
        try (Membership present = Membership.present(home);
                WorkerDirectory again = home.join("ps0")) {
            present.refresh();
            assertThat(present.members().find("ps0").orElseThrow().epoch()).isEqualTo(2);
            Files.delete(home.presentPath(again.info()));
            again.publish(WorkerState.READY, List.of(), Map.of());
            present.refresh();
            assertThat(present.members().find("ps0").orElseThrow().state()).isEqualTo(PeerState.READY);
        }
        try (var marks = Files.list(home.presentPath())) {
            assertThat(marks).isEmpty();
        }
    }

    @Test
    void asksForProcessesOnlyWhenAWaitWasEndedHoweverManyShareTheHome() throws IOException {
        AtomicInteger asked = new AtomicInteger();
        Processes counting = new Processes() {
            @Override
            public ProcessIdentity self() {
                return HOST.processes().self();
            }

            @Override
            public Liveness liveness(ProcessIdentity process) {
                return HOST.processes().liveness(process);
            }

            @Override
            public ProcessWatch watch(ProcessIdentity process) {
                ProcessWatch real = HOST.processes().watch(process);
                return new ProcessWatch() {
                    @Override
                    public Liveness liveness() {
                        asked.incrementAndGet();
                        return real.liveness();
                    }

                    @Override
                    public boolean endsWaitsOf(ChangeWatch changes) {
                        return real.endsWaitsOf(changes);
                    }

                    @Override
                    public void close() {
                        real.close();
                    }
                };
            }
        };
        try (ChangeWatch changes = ChangeWatch.open(HOST.calls(), home.presentPath());
                WorkerDirectory first = home.join("first");
                WorkerDirectory second = home.join("second");
                Membership notified = Membership.present(Home.open(home.path(), HOST.withProcesses(counting)))) {
            notified.changesEnd(changes);
            notified.refresh();
            int before = asked.get();
            for (int i = 0; i < 100; i++) {
                notified.refresh();
            }
            assertThat(asked.get()).as("without a change").isEqualTo(before);
            first.publish(WorkerState.READY, List.of(), Map.of());
            assertThat(changes.await(60_000_000_000L)).isTrue();
            notified.refresh();
            assertThat(asked.get()).as("once for each worker").isEqualTo(before + 2);
            assertThat(second.id()).isEqualTo(1);
        }
    }

    @Test
    void looksAtAllOnceItWatchesAndWhenChangesWereLost() throws IOException {
        try (Membership notified = Membership.present(home);
                WorkerDirectory before = home.join("before")) {
            notified.refresh();
            before.publish(WorkerState.READY, List.of(), Map.of());
            try (ChangeWatch changes = ChangeWatch.open(HOST.calls(), home.presentPath())) {
                notified.changesEnd(changes);
                notified.refresh();
                assertThat(notified.members().find("before").orElseThrow().state())
                        .isEqualTo(PeerState.READY);
                for (int i = 0; i < 3_000; i++) { // more names than are kept
                    Path some = Files.createFile(home.presentPath().resolve("x" + i));
                    Files.setLastModifiedTime(some, FileTime.fromMillis(i));
                }
                before.publish(WorkerState.STARTING, List.of(), Map.of());
                notified.refresh();
                assertThat(notified.members().find("before").orElseThrow().state())
                        .as("one whose change was not noted")
                        .isEqualTo(PeerState.STARTING);
            }
        }
    }

    @Test
    void seesTheDeadAndTheUnseen() throws IOException {
        ProcessIdentity self = HOST.processes().self();
        joinAs("dead", new ProcessIdentity(self.pid(), self.startTime() + 2, self.bootId(), self.pidNamespace(), 0));
        joinAs("unseen", new ProcessIdentity(self.pid(), self.startTime(), self.bootId(), "pid:[1]", 0));

        assertThat(stateOf("dead")).isEqualTo(PeerState.DEAD);
        assertThat(stateOf("unseen")).isEqualTo(PeerState.STARTING);
        assertThat(membership.members().find("unseen").orElseThrow().liveness()).isEqualTo(Liveness.UNKNOWN);
    }

    private void joinAs(String name, ProcessIdentity process) throws IOException {
        Processes posing = new Processes() {
            @Override
            public ProcessIdentity self() {
                return new ProcessIdentity(
                        process.pid(),
                        process.startTime(),
                        process.bootId(),
                        process.pidNamespace(),
                        HOST.files().owner());
            }

            @Override
            public Liveness liveness(ProcessIdentity other) {
                return HOST.processes().liveness(other);
            }
        };
        Home.open(home.path(), HOST.withProcesses(posing)).join(name).abandon();
    }

    @Test
    void goesOnWhenOneWorkerIsUnreadable() throws IOException {
        try (WorkerDirectory good = home.join("good")) {
            WorkerDirectory bad = home.join("bad");
            bad.abandon();
            Path file = bad.path().resolve("worker.json");
            for (Damage damage : damages()) {
                Files.deleteIfExists(file);
                damage.apply(file);
                touchWorkers();

                assertThat(stateOf("bad")).isEqualTo(PeerState.UNREADABLE);
                assertThat(membership.members().find("bad").orElseThrow().problem())
                        .contains(file.toString());
                assertThat(stateOf("good")).isEqualTo(PeerState.STARTING);
            }
            Files.delete(file);
            touchWorkers();
            membership.refresh();
            assertThat(membership.members().find("bad")).isEmpty();
            try (WorkerDirectory again = home.join("bad")) {
                assertThat(stateOf("bad")).isEqualTo(PeerState.STARTING);
                assertThat(again.epoch()).isEqualTo(2);
            }
            assertThat(good.id()).isZero();
        }
    }

    private interface Damage {
        void apply(Path file) throws IOException;
    }

    private List<Damage> damages() {
        return List.of(
                file -> Files.writeString(file, ""),
                file -> Files.writeString(file, "{\"format\":1"),
                file -> Files.writeString(file, "[]"),
                file -> Files.writeString(file, "{\"format\":2}"),
                file -> Files.writeString(file, "[".repeat(10_000)),
                file -> Files.writeString(file, "{\"serves\":" + "[".repeat(10_000)),
                file -> Files.writeString(file, "{\"id\":99999999999999999999999999}"),
                file -> Files.write(file, new byte[100_000]),
                file -> Files.createSymbolicLink(file, Path.of("/dev/zero")),
                file -> HOST.files().openOwnFifo(file).close());
    }

    private void touchWorkers() throws IOException {
        Files.setLastModifiedTime(home.workersPath(), FileTime.from(HOST.clock().wallNs(), TimeUnit.NANOSECONDS));
    }

    @Test
    void refusesARecordInTheWrongPlace() throws IOException {
        WorkerDirectory worker = home.join("ps0");
        worker.leave();
        Path other = HOST.files().createPrivateDirectory(home.workersPath().resolve("5-thief"));
        Files.copy(worker.path().resolve("worker.json"), other.resolve("worker.json"));
        assertThat(stateOf("thief")).isEqualTo(PeerState.UNREADABLE);
        assertThat(membership.members().find("thief").orElseThrow().problem()).contains("name=ps0");
    }

    @Test
    void ignoresWhatIsNoWorkersDirectory() throws IOException {
        for (String name : List.of("99999-a", "x", "07-a", "1-", "-1-a")) {
            Files.createDirectory(home.workersPath().resolve(name));
        }
        membership.refresh();
        assertThat(membership.members().all()).isEmpty();
    }

    @Test
    void reportsAFileInPlaceOfAWorkersDirectory() throws IOException {
        Files.createFile(home.workersPath().resolve("3-file"));
        assertThat(stateOf("file")).isEqualTo(PeerState.UNREADABLE);
    }

    @Test
    void listsWorkersByTheirIds() throws IOException {
        for (int i = 0; i < 12; i++) {
            home.join("w" + i).leave();
        }
        membership.refresh();
        assertThat(membership.members().all()).extracting(Peer::id).isSorted().hasSize(12);
    }
}
