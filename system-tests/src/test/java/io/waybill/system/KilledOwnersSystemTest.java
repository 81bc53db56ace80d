package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.kept.KeptValues;
import io.waybill.rref.Keeping;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Four processes that create, pass on, fetch and close references at random, while some of them are killed and started again. Whatever
 * happens, every operation ends, with the right value or for a reason; and when all references are closed nothing is left in any table,
 * nor on any disk. The seed is in the error of a run that fails; {@code -Dwaybill.seed=N} draws the same operations and kills,
 * which meet each other at other moments.
 */
class KilledOwnersSystemTest {

    private static final String NAMES = "a,b,c,d";
    private static final String NOTHING = "{num_owner_rrefs=0,num_forks=0,num_pending_users=0,num_pending_futures=0}";
    private static final int SHORT = 6;
    private static final int LONG = 60;
    private static final Duration GRACE = Duration.ofSeconds(8);
    private static final long MOST_BETWEEN_MS = 1500;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource
    @Tag("ci")
    @Timeout(600)
    void balanceEveryReference(Keeping keeping) throws Exception {
        run(keeping, SHORT);
    }

    @ParameterizedTest
    @EnumSource
    @Tag("slow")
    @Timeout(900)
    void balanceEveryReferenceOfManyIncarnations(Keeping keeping) throws Exception {
        run(keeping, LONG);
    }

    private void run(Keeping keeping, int kills) throws Exception {
        long seed = Seeds.fresh();
        try (Processes processes = new Processes(directory.resolve("home"), directory, keeping, GRACE)) {
            Run run = new Run(new Random(seed), processes, keeping);
            try {
                run.start();
                for (int killed = 0; killed < kills; killed++) {
                    run.kill();
                }
                run.end();
            } catch (Exception | AssertionError e) {
                throw new AssertionError(
                        Seeds.option(seed) + ", keeping " + keeping + ": " + e.getMessage() + run.logs(), e);
            }
        }
    }

    /** One history. */
    private static final class Run {
        private final Random random;
        private final Processes processes;
        private final Keeping keeping;
        private final List<String> names = List.of(NAMES.split(","));
        private final List<WorkerProcess> running = new ArrayList<>();

        Run(Random random, Processes processes, Keeping keeping) {
            this.random = random;
            this.processes = processes;
            this.keeping = keeping;
        }

        void start() throws Exception {
            for (String name : names) {
                running.add(processes.start(name));
            }
            for (WorkerProcess process : running) {
                process.awaitReady();
            }
            for (WorkerProcess process : running) {
                walk(process);
            }
        }

        private void walk(WorkerProcess process) throws Exception {
            String kept = String.valueOf(keeping == Keeping.ALL);
            process.ask("walk start " + random.nextLong() + " " + kept + " " + NAMES, "walk started");
        }

        /** Kills one, and starts it again a while later. */
        void kill() throws Exception {
            pass();
            int which = random.nextInt(names.size());
            running.get(which).kill();
            pass();
            running.set(which, processes.start(names.get(which)).awaitReady());
            walk(running.get(which));
        }

        private void pass() {
            long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(random.nextLong(MOST_BETWEEN_MS));
            while (System.nanoTime() < untilNs) {
                LockSupport.parkNanos(untilNs - System.nanoTime());
            }
        }

        void end() throws Exception {
            pass();
            for (WorkerProcess process : running) {
                String notified = process.ask("walk stop", "walk operations=");
                assertThat(notified)
                        .as("what the last life of a worker did")
                        .doesNotContain("fetched=0 ")
                        .endsWith(" wrong=");
            }
            for (WorkerProcess process : running) {
                process.ask("walk release", "walk released");
            }
            for (int i = 0; i < names.size(); i++) {
                WorkerProcess process = running.get(i);
                Waits.until(
                        () -> process.name() + " has references left: " + counters(process),
                        () -> counters(process).equals(NOTHING));
                Path kept = processes.worker(process.id(), names.get(i)).resolve(KeptValues.DIRECTORY);
                Waits.until(
                        () -> "files are left: " + files(kept),
                        () -> files(kept).isEmpty());
            }
        }

        private static String counters(WorkerProcess process) {
            try {
                return process.ask("rref counters", "rref ").substring("rref ".length());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private static List<Path> files(Path directory) {
            if (!Files.exists(directory)) {
                return List.of();
            }
            try (Stream<Path> files = Files.list(directory)) {
                return files.toList();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        String logs() {
            StringBuilder logs = new StringBuilder();
            running.forEach(process ->
                    logs.append("\n--- ").append(process.name()).append('\n').append(process.log()));
            return logs.toString();
        }
    }
}
