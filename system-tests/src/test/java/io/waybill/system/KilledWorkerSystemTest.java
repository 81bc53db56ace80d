package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that are killed, stopped and started again while they call each other. */
@Tag("ci")
@Timeout(600)
class KilledWorkerSystemTest {

    private static final int KILLS = 3;
    /** Far beyond the time that a test has: who waits for it fails. */
    private static final long LONG_MS = 600_000;

    @TempDir
    private Path directory;

    private final Random random = Seeds.random();
    private Processes processes;

    @BeforeEach
    void openHome() {
        processes = new Processes(directory.resolve("home"), directory);
    }

    @AfterEach
    void end() {
        processes.close();
    }

    private void awaitTraffic(WorkerProcess caller) throws Exception {
        caller.awaitResponses(500 + random.nextInt(3000));
    }

    @Test
    void notifiesCallersOfAKilledWorkerAndLetsItReturn() throws Exception {
        WorkerProcess caller = processes.start("caller");
        WorkerProcess server = processes.start("server");
        caller.awaitReady();
        int serverId = server.awaitReady().id();
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            caller.go("server", 64, LONG_MS, 100, 20);
            awaitTraffic(caller);
            server.kill();
            assertThat(caller.stop()).as("calls without an outcome").isZero();
            // some are sent while nobody is there to take them
            caller.go("server", 64, LONG_MS, 100, 20);
            server = processes.start("server").awaitReady();
            assertThat(server.id()).isEqualTo(serverId);
            assertThat(server.epoch()).isEqualTo(incarnation + 1);
            awaitTraffic(caller);
            assertThat(caller.stop()).as("calls without an outcome").isZero();
        }
        int callerId = caller.id();
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsExactlyInAnyOrder(Outcomes.OK, "WORKER_LOST");
        assertThat(calls.refused.keySet()).containsOnly("WORKER_LOST");
        Outcomes served = processes.outcomes("server").hasNothingTwice();
        Records requests = processes.requests(callerId, "caller");
        Records responses = processes.responses(serverId, "server");
        assertThat(requests.sentNs.keySet()).containsAll(calls.sent);
        calls.outcomes.forEach(
                (id, outcome) -> assertThat(!outcome.equals(Outcomes.OK) || responses.sentNs.containsKey(id))
                        .isTrue());
        assertThat(served.handled.keySet()).containsAll(calls.withOutcome(Outcomes.OK));
        served.handled.forEach((id, incarnation) -> assertThat(requests.epochs.get(id))
                .as("which life the request was for that life " + incarnation + " ran")
                .isEqualTo(incarnation));
        assertThat(calls.withOutcome("WORKER_LOST"))
                .as("lost with a life that was killed, not with the last one")
                .noneMatch(id -> requests.epochs.get(id) > KILLS);
    }

    @Test
    void goesOnWithTheIdsOfAKilledCaller() throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        WorkerProcess witness = processes.start("witness").awaitReady();
        witness.go("server", 8, LONG_MS, 100, 100);
        int callerId = -1;
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            WorkerProcess caller = processes.start("caller").awaitReady();
            assertThat(caller.epoch()).isEqualTo(incarnation);
            assertThat(callerId == -1 || callerId == caller.id()).isTrue();
            callerId = caller.id();
            caller.go("server", 64, LONG_MS, 100, 20);
            awaitTraffic(caller);
            caller.kill();
        }
        WorkerProcess last = processes.start("caller").awaitReady();
        last.go("server", 64, LONG_MS, 100, 20);
        awaitTraffic(last);
        assertThat(last.stop()).isZero();
        assertThat(witness.stop()).isZero();
        assertThat(server.stat("damaged")).isZero();
        last.leave();
        witness.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice();
        assertThat(calls.counts.keySet()).containsOnly(Outcomes.OK);
        assertThat(processes.requests(callerId, "caller").sentNs.keySet()).containsAll(calls.sent);
        Outcomes witnessed = processes.outcomes("witness").hasNothingTwice().isBalanced();
        assertThat(witnessed.counts.keySet()).containsOnly(Outcomes.OK);
        assertThat(witnessed.refused).isEmpty();
        processes.outcomes("server").hasNothingTwice();
        processes.responses(server.id(), "server");
    }

    @Test
    void goesOnAfterBothWereKilledAtOnce() throws Exception {
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            WorkerProcess left = processes.start("left");
            WorkerProcess right = processes.start("right");
            left.awaitReady();
            right.awaitReady();
            assertThat(left.epoch()).isEqualTo(incarnation);
            assertThat(right.epoch()).isEqualTo(incarnation);
            left.go("right,left", 32, LONG_MS, 300, 20);
            right.go("left", 32, LONG_MS, 300, 20);
            awaitTraffic(left);
            awaitTraffic(right);
            left.kill();
            right.kill();
        }
        WorkerProcess left = processes.start("left").awaitReady();
        WorkerProcess right = processes.start("right").awaitReady();
        left.go("right", 32, LONG_MS, 300, 20);
        awaitTraffic(left);
        assertThat(left.stop()).isZero();
        left.leave();
        right.leave();
        check("left", left.id());
        check("right", right.id());
    }

    private void check(String name, int id) throws IOException {
        Outcomes calls = processes.outcomes(name).hasNothingTwice();
        assertThat(calls.counts.keySet()).contains(Outcomes.OK).isSubsetOf(Outcomes.OK, "WORKER_LOST");
        assertThat(processes.requests(id, name).sentNs.keySet()).containsAll(calls.sent);
        assertThat(processes.responses(id, name).sentNs.keySet())
                .as("what was responded to once is not responded to again: see Records")
                .isNotEmpty();
    }

    @Test
    void givesOneOutcomeToCallsToAStoppedWorker() throws Exception {
        WorkerProcess caller = processes.start("caller");
        WorkerProcess server = processes.start("server");
        caller.awaitReady();
        server.awaitReady();
        caller.go("server", 64, 500, 100, 20);
        awaitTraffic(caller);
        server.pause();
        Waits.until("timeouts", () -> caller.stat("timeouts") >= 64);
        server.resume();
        long before = caller.stat("responses");
        Waits.until("responses again", () -> caller.stat("responses") > before + 500);
        assertThat(caller.stop()).isZero();
        // and the caller, stopped with calls in flight
        caller.go("server", 64, 500, 100, 20);
        awaitTraffic(caller);
        caller.pause();
        long begun = server.stat("begun");
        caller.resume();
        Waits.until("requests again", () -> server.stat("begun") > begun + 500);
        assertThat(caller.stop()).isZero();
        int callerId = caller.id();
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsExactlyInAnyOrder(Outcomes.OK, "TIMED_OUT");
        assertThat(calls.refused.keySet()).isSubsetOf("TIMED_OUT");
        processes.outcomes("server").hasNothingTwice();
        assertThat(processes.requests(callerId, "caller").sentNs.keySet()).containsAll(calls.sent);
    }

    @Test
    void losesNothingWhenAWorkerIsKilledAsleep() throws Exception {
        WorkerProcess caller = processes.start("caller").awaitReady();
        WorkerProcess server = processes.start("server").awaitReady();
        for (int incarnation = 1; incarnation <= 2; incarnation++) {
            caller.go("server", 1, LONG_MS, 100, 1000);
            Waits.until("responses", () -> caller.stat("responses") > 20);
            assertThat(caller.stop()).isZero();
            server.kill(); // it slept: nothing was asked of it
            server = processes.start("server").awaitReady();
        }
        caller.go("server", 1, LONG_MS, 100, 1000);
        long before = caller.stat("responses");
        Waits.until("responses", () -> caller.stat("responses") > before + 20);
        assertThat(caller.stop()).isZero();
        caller.kill(); // asleep too
        WorkerProcess again = processes.start("caller").awaitReady();
        again.go("server", 1, LONG_MS, 100, 1000);
        Waits.until("responses", () -> again.stat("responses") > 20);
        assertThat(again.stop()).isZero();
        again.leave();
        server.leave();
        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).isSubsetOf(Outcomes.OK, "WORKER_LOST");
    }
}
