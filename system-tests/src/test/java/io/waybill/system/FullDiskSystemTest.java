package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A home on a disk that another process fills, and empties again. */
@Tag("ci")
@Timeout(600)
class FullDiskSystemTest {

    private static final long RESERVE = 4 << 20;
    private static final long LONG_MS = 600_000;

    @TempDir
    private Path directory;

    private final Random random = Seeds.random();

    private void awaitResponses(WorkerProcess caller) throws Exception {
        long some = caller.stat("responses") + 500 + random.nextInt(2000);
        Waits.until(() -> "responses\n" + caller.log(), () -> caller.stat("responses") >= some);
    }

    private static void awaitRefusals(Processes processes, WorkerProcess caller, WorkerProcess server)
            throws Exception {
        int before = refused(processes);
        Waits.until(
                () -> "refused with JOURNAL_FULL\n" + caller.log() + server.log(),
                () -> caller.stat("responses") > 0 // it would say that its traffic broke
                        && refused(processes) > before);
    }

    private static int refused(Processes processes) throws IOException {
        return processes.outcomes("caller").refused.getOrDefault("JOURNAL_FULL", 0);
    }

    @ParameterizedTest
    @EnumSource(SmallDisk.Kind.class)
    void refusesCallsWhileTheDiskIsFullAndGoesOnAfterwards(SmallDisk.Kind kind) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(kind, 128, directory);
                Processes processes = new Processes(disk.path().resolve("home"), directory)) {
            WorkerProcess caller = processes.start("caller", RESERVE, Waiting.BALANCED);
            WorkerProcess server = processes.start("server", RESERVE, Waiting.BALANCED);
            caller.awaitReady();
            server.awaitReady();
            for (int round = 0; round < 2; round++) {
                caller.go("server", 64, LONG_MS, 1000, 10);
                awaitResponses(caller);
                disk.fill();
                awaitRefusals(processes, caller, server);
                assertThat(caller.stop()).as("calls without an outcome").isZero();
                disk.free();
                caller.go("server", 64, LONG_MS, 1000, 10);
                awaitResponses(caller);
                assertThat(caller.stop()).as("calls without an outcome").isZero();
            }
            caller.leave();
            server.leave();
            Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
            assertThat(calls.counts.keySet()).contains(Outcomes.OK).isSubsetOf(Outcomes.OK, "JOURNAL_FULL");
            assertThat(calls.refused.keySet()).containsOnly("JOURNAL_FULL");
            check(processes, caller, server, calls);
        }
    }

    private static void check(Processes processes, WorkerProcess caller, WorkerProcess server, Outcomes calls)
            throws Exception {
        processes.outcomes("server").hasNothingTwice();
        assertThat(processes.requests(caller.id(), "caller").sentNs.keySet()).containsAll(calls.sent);
        Records responses = processes.responses(server.id(), "server");
        calls.outcomes.forEach(
                (id, outcome) -> assertThat(!outcome.equals(Outcomes.OK) || responses.sentNs.containsKey(id))
                        .isTrue());
    }

    @ParameterizedTest
    @EnumSource(SmallDisk.Kind.class)
    void respondsWithAnErrorWhenThereIsRoomForRequestsButNotForResponses(SmallDisk.Kind kind) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(kind, 128, directory);
                Processes processes = new Processes(disk.path().resolve("home"), directory)) {
            WorkerProcess caller = processes.start("caller", RESERVE, Waiting.BALANCED);
            WorkerProcess server = processes.start("server", RESERVE, Waiting.BALANCED);
            caller.awaitReady();
            server.awaitReady();
            caller.go("server", 8, LONG_MS, 20, 100);
            awaitResponses(caller);
            assertThat(caller.stop()).isZero();
            disk.fill();
            caller.ask("go server 64 " + LONG_MS + " 20 10 " + WorkerMain.LARGE_RESPONSE, "going");
            Waits.until(
                    () -> "responded to with JOURNAL_FULL: " + caller.log() + server.log(),
                    () -> processes.outcomes("caller").count("JOURNAL_FULL") > 100);
            disk.free();
            int before = processes.outcomes("caller").count(Outcomes.OK);
            Waits.until(
                    () -> "responses: " + server.log(),
                    () -> processes.outcomes("caller").count(Outcomes.OK) > before + 100);
            assertThat(caller.stop()).as("calls without an outcome").isZero();
            caller.leave();
            server.leave();
            Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
            assertThat(calls.counts.keySet()).containsOnly(Outcomes.OK, "JOURNAL_FULL");
            check(processes, caller, server, calls);
        }
    }

    // with 64 and 1800 KiB the table of one queue or the other is what there is no room for
    @ParameterizedTest
    @CsvSource({"TMPFS,0", "TMPFS,64", "TMPFS,1800", "TMPFS,1900", "EXT4,0", "EXT4,300"})
    void saysWhyANodeCannotStart(SmallDisk.Kind kind, long leftKilobytes) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(kind, 32, directory);
                Processes processes = new Processes(disk.path().resolve("home"), directory)) {
            disk.fillBut(leftKilobytes);
            try (WorkerProcess worker = processes.start("worker", RESERVE, Waiting.BALANCED)) {
                String response = worker.response("");
                assertThat(response).startsWith("failed").containsAnyOf("ENOSPC", "No space left", "no room");
            }
            disk.free();
            WorkerProcess worker = processes.start("worker").awaitReady();
            worker.go("worker", 4, LONG_MS, 100, 100);
            awaitResponses(worker);
            assertThat(worker.stop()).isZero();
            worker.leave();
            processes.outcomes("worker").hasNothingTwice().isBalanced();
            processes.requests(worker.id(), "worker");
        }
    }

    @Test
    void startsOnASmallDisk() throws Exception {
        try (SmallDisk disk = SmallDisk.mount(SmallDisk.Kind.EXT4, 32, directory);
                Processes processes = new Processes(disk.path().resolve("home"), directory)) {
            WorkerProcess worker =
                    processes.start("worker", 64 << 20, Waiting.BALANCED).awaitReady();
            assertThat(Files.getFileStore(disk.path()).getUsableSpace()).isPositive();
            worker.leave();
        }
    }
}
