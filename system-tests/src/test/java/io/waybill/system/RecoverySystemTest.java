package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of requests that a killed worker had begun, or had not yet begun, when it returns. The handlers keep their own account. */
@Tag("ci")
@Timeout(600)
class RecoverySystemTest {

    private static final int KILLS = 3;
    private static final int WINDOW = 64;
    private static final int PAYLOAD = 100;
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

    private void awaitResponses(WorkerProcess caller) throws Exception {
        caller.awaitResponses(200 + random.nextInt(500));
    }

    @Test
    void runsAgainWhatAKilledWorkerLeftUnanswered() throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        WorkerProcess caller = processes.start("caller").awaitReady();
        caller.go("server", WINDOW, LONG_MS, PAYLOAD, 20, WorkerMain.AGAIN);
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            awaitResponses(caller);
            server.kill();
            server = processes.start("server").awaitReady();
        }
        awaitResponses(caller);
        assertThat(caller.stop()).as("calls without an outcome").isZero();
        int callerId = caller.id();
        int serverId = server.id();
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).as("no call ended with a life").containsOnly(Outcomes.OK);
        Outcomes served = processes.outcomes("server").hasNothingTwice();
        assertThat(served.handledAgain).as("begun, and run again").isNotEmpty();
        Records requests = processes.requests(callerId, "caller");
        Records responses = processes.responses(serverId, "server");
        assertThat(responses.sentNs.keySet()).as("each responded to once").containsAll(requests.sentNs.keySet());
        Set<Long> run = new HashSet<>(served.handled.keySet());
        run.addAll(served.handledAgain.keySet());
        assertThat(run).containsAll(calls.sent);
        served.handledAgain.forEach((id, incarnation) -> assertThat(requests.epochs.get(id))
                .as("what is run again was sent to an earlier life")
                .isLessThan(incarnation));
    }

    @Test
    void respondsToWhatItDoesNotRunAgain() throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        WorkerProcess caller = processes.start("caller").awaitReady();
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            caller.go("server", WINDOW, LONG_MS, PAYLOAD, 20, WorkerMain.ONCE);
            awaitResponses(caller);
            server.kill();
            assertThat(caller.stop()).as("calls without an outcome").isZero();
            server = processes.start("server").awaitReady();
        }
        caller.go("server", WINDOW, LONG_MS, PAYLOAD, 20, WorkerMain.ONCE);
        awaitResponses(caller);
        assertThat(caller.stop()).as("calls without an outcome").isZero();
        int callerId = caller.id();
        int serverId = server.id();
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsExactlyInAnyOrder(Outcomes.OK, "WORKER_LOST");
        Outcomes served = processes.outcomes("server").hasNothingTwice();
        assertThat(served.handledAgain).isEmpty();
        assertThat(processes.responses(serverId, "server").sentNs.keySet())
                .as("every request has one response on record")
                .containsAll(processes.requests(callerId, "caller").sentNs.keySet());
    }

    @Test
    void doesNotRunAgainWhatExpiredMeanwhile() throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        WorkerProcess caller = processes.start("caller").awaitReady();
        caller.go("server", WINDOW, 300, PAYLOAD, 20, WorkerMain.AGAIN);
        awaitResponses(caller);
        server.kill();
        Waits.until("timeouts", () -> caller.stat("pending") == 0);
        assertThat(caller.stop()).isZero();
        server = processes.start("server").awaitReady();
        caller.go("server", WINDOW, LONG_MS, PAYLOAD, 20, WorkerMain.AGAIN);
        awaitResponses(caller);
        assertThat(caller.stop()).isZero();
        int callerId = caller.id();
        int serverId = server.id();
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsExactlyInAnyOrder(Outcomes.OK, "TIMED_OUT");
        Outcomes served = processes.outcomes("server").hasNothingTwice();
        assertThat(served.handledAgain).isEmpty();
        assertThat(processes.responses(serverId, "server").sentNs.keySet())
                .as("every request has one response on record")
                .containsAll(processes.requests(callerId, "caller").sentNs.keySet());
    }

    @Test
    void claimsWhatItsEarlierIncarnationAsked() throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        int claimed = 0;
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            WorkerProcess caller = processes.start("caller").awaitReady();
            caller.go("server", WINDOW, LONG_MS, PAYLOAD, 20, WorkerMain.ONCE);
            awaitResponses(caller);
            caller.kill();
            WorkerProcess again = processes.start("caller").awaitReady();
            claimed += claim(again);
            again.leave();
        }
        assertThat(claimed).as("calls that a killed caller had open").isPositive();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice();
        assertThat(calls.claimed.values()).containsOnly(Outcomes.OK);
        assertAllKnown(calls);
        processes.outcomes("server").hasNothingTwice();
    }

    @Test
    void claimsWhatWasOpenWhenBothWereKilled() throws Exception {
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            WorkerProcess server = processes.start("server").awaitReady();
            WorkerProcess caller = processes.start("caller").awaitReady();
            caller.go(
                    "server", WINDOW, LONG_MS, PAYLOAD, 20, incarnation % 2 == 0 ? WorkerMain.ONCE : WorkerMain.AGAIN);
            awaitResponses(caller);
            server.kill();
            caller.kill();
            WorkerProcess again = processes.start("caller").awaitReady();
            server = processes.start("server").awaitReady();
            claim(again);
            again.leave();
            server.leave();
        }

        Outcomes calls = processes.outcomes("caller").hasNothingTwice();
        assertThat(calls.claimed.values()).isSubsetOf(Outcomes.OK, "WORKER_LOST");
        assertAllKnown(calls);
        processes.outcomes("server").hasNothingTwice();
    }

    private static int claim(WorkerProcess caller) throws Exception {
        return Integer.parseInt(caller.ask("claim 30000", "claimed").split(" ")[1]);
    }

    private static void assertAllKnown(Outcomes calls) {
        Set<Long> known = new HashSet<>(calls.outcomes.keySet());
        known.addAll(calls.claimed.keySet());
        assertThat(known).as("calls whose outcome was heard or claimed").containsAll(calls.sent);
    }
}
