package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.journal.RetentionSettings;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is kept of a journal, and what is not, for a worker that was killed. */
@Tag("ci")
@Timeout(600)
class RetentionSystemTest {

    private static final int WINDOW = 64;
    private static final int PAYLOAD = 4000;
    private static final long LONG_MS = 600_000;
    private static final int CYCLES = 3;
    private static final int MANY = 12;
    private static final String LOST_POSITION = "LOST_POSITION";

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

    private WorkerProcess start(String name, Duration absentPeers) throws Exception {
        RetentionSettings retention =
                RetentionSettings.DEFAULTS.withMaxCycles(CYCLES).withAbsentPeers(absentPeers);
        return processes.start(name, retention).awaitReady();
    }

    private static void call(WorkerProcess caller, String to) throws Exception {
        caller.go(to, WINDOW, LONG_MS, PAYLOAD, 20);
        long some = caller.stat("responses") + 500;
        Waits.until(() -> "responses\n" + caller.log(), () -> caller.stat("responses") >= some);
    }

    private static void stop(WorkerProcess caller) throws Exception {
        assertThat(caller.stop()).as("calls without an outcome").isZero();
    }

    /** Oldest first. */
    private List<Path> files(WorkerProcess worker, String queue) {
        try (Stream<Path> files =
                Files.list(processes.worker(worker.id(), worker.name()).resolve(queue))) {
            return files.filter(file -> file.toString().endsWith(".cq4"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the caller's file in which the server read last. */
    private Path callAndKill(WorkerProcess caller, WorkerProcess server) throws Exception {
        call(caller, server.name());
        stop(caller);
        server.kill();
        List<Path> files = files(caller, "requests");
        return files.get(files.size() - 1);
    }

    private void assertAllResponded() throws IOException {
        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        assertThat(calls.counts.keySet()).containsOnly(Outcomes.OK);
        processes.outcomes("server").hasNothingTwice();
    }

    @Test
    void aWorkerThatWasDeadForTooLongGoesOnWithWhatIsThere() throws Exception {
        WorkerProcess server = start("server", Duration.ZERO);
        WorkerProcess other = start("other", Duration.ZERO);
        WorkerProcess caller = start("caller", Duration.ZERO);
        Path position = callAndKill(caller, server);
        call(caller, "other");
        Waits.until(
                "the file in which it read is removed",
                () -> !files(caller, "requests").contains(position));
        stop(caller);

        server = start("server", Duration.ZERO);
        call(caller, "server");
        stop(caller);

        assertThat(server.log())
                .contains(LOST_POSITION + ": "
                        + processes.worker(caller.id(), "caller").resolve("requests"));
        caller.leave();
        other.leave();
        server.leave();
        assertAllResponded();
    }

    /** Beside it a caller that waits for nobody, whose files show that time to remove them has passed. */
    @Test
    void whatADeadWorkerHasNotReadStaysUntilItIsBack() throws Exception {
        Duration hour = Duration.ofHours(1);
        WorkerProcess server = start("server", hour);
        WorkerProcess other = start("other", hour);
        WorkerProcess caller = start("caller", hour);
        WorkerProcess impatient = start("impatient", Duration.ZERO);
        Path position = callAndKill(caller, server);
        call(caller, "other");
        Waits.until(
                "there is much that it has not read",
                () -> files(caller, "requests").size() > MANY);
        stop(caller);
        for (int i = 0; i < 2; i++) {
            call(impatient, "other");
            Waits.until("it has many files", () -> files(impatient, "requests").size() > CYCLES);
            stop(impatient);
            Waits.until("they are removed", () -> files(impatient, "requests").size() <= CYCLES);
        }
        assertThat(files(caller, "requests")).contains(position).hasSizeGreaterThan(MANY);

        server = start("server", hour);
        Waits.until("it has caught up", () -> files(caller, "requests").size() <= CYCLES);
        call(caller, "server");
        stop(caller);

        assertThat(server.log()).doesNotContain(LOST_POSITION + ": " + processes.worker(caller.id(), "caller"));
        caller.leave();
        impatient.leave();
        other.leave();
        server.leave();
        assertAllResponded();
    }
}
