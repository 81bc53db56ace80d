package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.JoinOptions.Unseen;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.IdTakenException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.Processes;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class WorkerDirectoryTest {
    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    private Home home;

    @BeforeEach
    void openHome() throws IOException {
        home = Home.open(dir.resolve("home"), HOST);
    }

    @Test
    void givesTheLowestFreeIdsAndKeepsThem() throws IOException {
        WorkerDirectory a = home.join("a");
        WorkerDirectory b = home.join("b");
        assertThat(List.of(a.id(), b.id())).containsExactly(0, 1);
        a.leave();
        b.leave();

        try (WorkerDirectory again = home.join("b")) {
            assertThat(again.id()).isEqualTo(1);
            assertThat(again.epoch()).isEqualTo(2);
            assertThat(again.previous().orElseThrow().state()).isEqualTo(WorkerState.LEFT);
        }
        assertThat(home.idOf("a")).contains(0);
        assertThat(home.idOf("never")).isEmpty();
    }

    @Test
    void refusesANameThatIsAlive() throws IOException {
        try (WorkerDirectory first = home.join("ps0")) {
            assertThatThrownBy(() -> home.join("ps0"))
                    .isInstanceOfSatisfying(
                            NameTakenException.class,
                            e -> assertThat(e.pid())
                                    .isEqualTo(ProcessHandle.current().pid()))
                    .hasMessageContaining("worker ps0 (id 0) of " + home.path() + " is taken: pid ")
                    .hasMessageContaining(" has it since 2");
            assertThat(first.record().state()).isEqualTo(WorkerState.STARTING);
        }
    }

    @Test
    void showsWhatItPublishes() throws IOException {
        try (WorkerDirectory worker = home.join("ps0", JoinOptions.defaults().withVersion("0.1.0"))) {
            worker.publish(WorkerState.READY, List.of("text.count"), Map.of("wait", "balanced"));

            WorkerRecord read = readRecord(worker.path());
            assertThat(read).isEqualTo(worker.record());
            assertThat(read.state()).isEqualTo(WorkerState.READY);
            assertThat(read.serves()).containsExactly("text.count");
            assertThat(read.settings()).containsEntry("wait", "balanced");
            assertThat(read.version()).isEqualTo("0.1.0");
            assertThat(read.process()).isEqualTo(HOST.processes().self());
        }
    }

    @Test
    void mayBeLeftAndClosedAgainAndAgain() throws IOException {
        WorkerDirectory worker = home.join("ps0");
        worker.leave();
        worker.leave();
        worker.close();

        assertThat(readRecord(worker.path()).state()).isEqualTo(WorkerState.LEFT);
        assertThatThrownBy(() -> worker.publish(WorkerState.READY, List.of(), Map.of()))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void takesOverFromOneThatDied() throws IOException {
        WorkerDirectory first = home.join("ps0");
        first.publish(WorkerState.READY, List.of(), Map.of());
        first.abandon();

        try (WorkerDirectory second = home.join("ps0")) {
            assertThat(second.id()).isEqualTo(first.id());
            assertThat(second.epoch()).isEqualTo(2);
            assertThat(second.previous().orElseThrow().state()).isEqualTo(WorkerState.READY);
            assertThat(second.cursors().origin()).isEqualTo(Cursors.Origin.KEPT);
            assertThat(second.cursorsAreExact()).isTrue();
        }
    }

    @Test
    void takesOverAfterAReboot() throws IOException {
        abandonAs("ps0", like(HOST.processes().self(), "another boot", "pid:[1]"));

        try (WorkerDirectory second = home.join("ps0")) {
            assertThat(second.epoch()).isEqualTo(2);
            assertThat(second.cursors().origin()).isEqualTo(Cursors.Origin.KEPT);
            assertThat(second.cursorsAreExact())
                    .as("whether cursors name all peers whose page may not have reached the disk")
                    .isFalse();
        }
    }

    @Test
    void takesOverWhenThePidIsAnotherProcessNow() throws IOException {
        ProcessIdentity self = HOST.processes().self();
        abandonAs("ps0", new ProcessIdentity(1, self.startTime() + 2, self.bootId(), self.pidNamespace(), self.uid()));

        try (WorkerDirectory second = home.join("ps0")) {
            assertThat(second.epoch()).isEqualTo(2);
        }
    }

    @Test
    void neverTakesOverFromOneThatCannotBeSeen() throws IOException {
        ProcessIdentity self = HOST.processes().self();
        abandonAs("ps0", like(self, self.bootId(), "pid:[1]"));

        assertThatThrownBy(() -> home.join("ps0"))
                .isInstanceOf(NameTakenException.class)
                .hasMessageContaining("in pid:[1] where it can't be seen from here");
        try (WorkerDirectory forced = home.join("ps0", JoinOptions.defaults().withUnseen(Unseen.TRUST_LOCK))) {
            assertThat(forced.epoch()).isEqualTo(2);
        }
    }

    private void abandonAs(String name, ProcessIdentity process) throws IOException {
        Processes posing = new Processes() {
            @Override
            public ProcessIdentity self() {
                return process;
            }

            @Override
            public Liveness liveness(ProcessIdentity other) {
                return HOST.processes().liveness(other);
            }
        };
        Home.open(home.path(), HOST.withProcesses(posing)).join(name).abandon();
    }

    private static ProcessIdentity like(ProcessIdentity self, String bootId, String namespace) {
        return new ProcessIdentity(self.pid(), self.startTime(), bootId, namespace, self.uid());
    }

    @Test
    void refusesNamesThatBreakTheRules() {
        for (String name : List.of("", "é", "a/b", "..", "a b", "x".repeat(128), "a\n")) {
            assertThatThrownBy(() -> home.join(name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("Worker name must match");
        }
    }

    @Test
    void takesNamesUpToTheLimit() throws IOException {
        for (String name : List.of("x".repeat(127), "a:b", "-", "_", "0-a")) {
            home.join(name).leave();
        }
        assertThat(home.idOf("0-a")).contains(4);
    }

    @Test
    void givesAnIdThatIsAskedFor() throws IOException {
        home.join("a", JoinOptions.defaults().withId(32767)).leave();
        assertThat(home.idOf("a")).contains(32767);

        assertThatThrownBy(() -> home.join("b", JoinOptions.defaults().withId(32767)))
                .isInstanceOf(IdTakenException.class)
                .hasMessage("id 32767 belongs to worker a in this home; worker b needs another one");
        assertThatThrownBy(() -> home.join("a", JoinOptions.defaults().withId(3)))
                .isInstanceOf(IdTakenException.class)
                .hasMessage("worker a has id 32767 in this home and keeps it; it can't join with id 3");
        assertThatThrownBy(() -> JoinOptions.defaults().withId(32768)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void usesAnIdAgainThatACrashLeftClaimed() throws IOException {
        HOST.files().createClaim(home.path().resolve("claims/id-0"), "other");
        HOST.files().createClaim(home.path().resolve("claims/joining-crashed"), "1");
        HOST.files().createClaim(home.path().resolve("claims/id-1"), "crashed");

        try (WorkerDirectory worker = home.join("crashed")) {
            assertThat(worker.id()).isEqualTo(1);
        }
        try (WorkerDirectory worker = home.join("third")) {
            assertThat(worker.id()).isEqualTo(2);
        }
    }

    @Test
    void refusesClaimsThatContradictEachOther() throws IOException {
        home.join("a").leave();
        Path claim = home.path().resolve("claims/name-a");
        Files.delete(claim);
        Files.createSymbolicLink(claim, Path.of("99999"));
        assertThatThrownBy(() -> home.join("a")).isInstanceOf(MalformedHomeFileException.class);

        Files.delete(claim);
        Files.createSymbolicLink(claim, Path.of("7"));
        assertThatThrownBy(() -> home.join("a")).hasMessageContaining("expected the claim of a, found nobody's");

        Files.delete(claim);
        Files.writeString(claim, "0");
        assertThatThrownBy(() -> home.join("a")).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void hasOneWinnerAmongManyThreads() throws Exception {
        Race.Result<WorkerDirectory> result = Race.run(16, i -> home.join("ps0"));

        assertThat(result.values()).hasSize(1);
        assertThat(result.failures()).hasSize(15).allMatch(NameTakenException.class::isInstance);
        result.values().get(0).close();
        assertThat(idClaims()).isEqualTo(1);
    }

    @Test
    void givesManyThreadsDifferentIds() throws Exception {
        Race.Result<WorkerDirectory> result = Race.run(16, i -> home.join("w" + i));

        assertThat(result.failures()).isEmpty();
        assertThat(new HashSet<>(
                        result.values().stream().map(WorkerDirectory::id).toList()))
                .hasSize(16);
        for (WorkerDirectory worker : result.values()) {
            worker.close();
        }
    }

    private long idClaims() throws IOException {
        return HOST.files().list(home.path().resolve("claims"), 1000).stream()
                .filter(path -> path.getFileName().toString().startsWith("id-"))
                .count();
    }

    @Test
    void replacesARecordThatWasCutShort() throws IOException {
        WorkerDirectory first = home.join("ps0");
        first.abandon();
        Files.writeString(first.path().resolve("worker.json"), "{\"format\":1,\"id\":0");

        try (WorkerDirectory second = home.join("ps0")) {
            assertThat(second.epoch()).isEqualTo(2);
            assertThat(second.previous()).isEmpty();
        }
    }

    @Test
    void replacesCursorsThatWereCutShort() throws IOException {
        WorkerDirectory first = home.join("ps0");
        first.abandon();
        long wholeBytes = Files.size(first.path().resolve("cursors"));
        Files.write(first.path().resolve("cursors"), new byte[5000]);

        try (WorkerDirectory second = home.join("ps0")) {
            assertThat(second.cursors().origin()).isEqualTo(Cursors.Origin.REPLACED);
            assertThat(Files.size(second.path().resolve("cursors"))).isEqualTo(wholeBytes);
        }
    }

    @Test
    void refusesWhatIsNoPlainFileWhereOneBelongs() throws IOException {
        WorkerDirectory first = home.join("ps0");
        first.leave();
        for (String name : List.of("worker.json", "cursors", "lock/owner")) {
            Path file = first.path().resolve(name);
            byte[] content = Files.readAllBytes(file);

            Files.delete(file);
            HOST.files().openOwnFifo(file).close();
            refuses(file, "found a FIFO");
            Files.delete(file);
            Files.createDirectory(file);
            refuses(file, "found a directory");
            Files.delete(file);
            Files.createSymbolicLink(file, Path.of("/dev/zero"));
            refuses(file, "found a symbolic link");
            Files.delete(file);
            Files.write(file, content);
        }
        home.join("ps0").leave();
    }

    @Test
    void refusesWhatIsNoFifoInPlaceOfTheDoorbell() throws IOException {
        WorkerDirectory first = home.join("ps0");
        first.leave();
        Path doorbell = first.path().resolve("doorbell");

        Files.delete(doorbell);
        Files.createFile(doorbell);
        refuses(doorbell, "expected a FIFO, found a regular file");
        Files.delete(doorbell);
        Files.createDirectory(doorbell);
        refuses(doorbell, "expected a FIFO, found a directory");
        Files.delete(doorbell);
        Files.createSymbolicLink(doorbell, Path.of("/dev/zero"));
        refuses(doorbell, "expected a FIFO, found a symbolic link");
    }

    private void refuses(Path file, String found) {
        assertThatThrownBy(() -> home.join("ps0"))
                .isInstanceOf(UnsafeFileException.class)
                .hasMessageContaining(file + ": ")
                .hasMessageContaining(found);
    }

    @Test
    void refusesToSayMoreThanOthersRead() throws IOException {
        try (WorkerDirectory worker = home.join("ps0")) {
            List<String> tooMany = Collections.nCopies(4000, "some.operation.with.a.name");
            assertThatThrownBy(() -> worker.publish(WorkerState.READY, tooMany, Map.of()))
                    .isInstanceOf(HomeException.class)
                    .hasMessageContaining("too much to say");
            assertThat(readRecord(worker.path()).state()).isEqualTo(WorkerState.STARTING);
        }
    }

    private static WorkerRecord readRecord(Path worker) throws IOException {
        Path file = worker.resolve("worker.json");
        return WorkerRecordJson.read(HOST.files().readSmall(file, WorkerRecordJson.MAX_BYTES), file);
    }
}
