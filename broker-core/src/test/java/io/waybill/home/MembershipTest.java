package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
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
    void seesTheDeadAndTheUnseen() throws IOException {
        ProcessIdentity self = HOST.processes().self();
        joinAs("dead", new ProcessIdentity(self.pid(), self.startTime() + 1, self.bootId(), self.pidNamespace(), 0));
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
