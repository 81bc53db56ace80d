package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers that are stopped under calls with deadlines, and go on when those are over. */
@Timeout(600)
class PausedWorkerSystemTest {

    private static final int PAUSES = 3;
    private static final int WINDOW = 256;
    private static final long TIMEOUT_MS = 400;

    @TempDir
    private Path directory;

    private Processes processes;

    @BeforeEach
    void openHome() {
        processes = new Processes(directory.resolve("home"), directory);
    }

    @AfterEach
    void end() {
        processes.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {WorkerMain.ECHO, WorkerMain.ONCE})
    void beginNoMoreThanWhatWasJudgedJustBefore(String type) throws Exception {
        WorkerProcess server = processes.start("server").awaitReady();
        WorkerProcess caller = processes.start("caller").awaitReady();
        int judging = 0;
        for (int pause = 1; pause <= PAUSES; pause++) {
            caller.go("server", WINDOW, TIMEOUT_MS, 100, 0, type);
            long some = caller.stat("responses") + 500;
            Waits.until("responses", () -> caller.stat("responses") >= some);
            long before = caller.stat("timeouts");
            judging += type.equals(WorkerMain.ECHO) ? 1 : Math.toIntExact(server.stat("threads"));
            server.pause();
            // all that was under way, and as much again that was sent while it was stopped
            Waits.until("timeouts", () -> caller.stat("timeouts") >= before + 4 * WINDOW);
            server.resume();
            long again = caller.stat("responses") + 500;
            Waits.until("responses again", () -> caller.stat("responses") >= again);
            assertThat(caller.stop()).isZero();
        }
        Waits.until("a pause noticed", () -> server.stat("pauses") >= 1);
        caller.leave();
        server.leave();

        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsExactlyInAnyOrder(Outcomes.OK, "TIMED_OUT");
        assertThat(processes.outcomes("server").hasNothingTwice().expired)
                .as("begun after their deadline, one at the most that each thread had judged just before a pause")
                .hasSizeLessThanOrEqualTo(judging);
    }
}
