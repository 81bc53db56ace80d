package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.worker.poll.Waiting;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sixteen processes that all call each other, and themselves. */
@Timeout(600)
class AllPairsSystemTest {

    private static final Logger LOG = LoggerFactory.getLogger(AllPairsSystemTest.class);
    private static final int WORKERS = 16;
    private static final long MEGABYTE = 1 << 20;
    private static final long LONG_MS = 600_000;
    /** Read: both queues of each worker, its own included; written: its own. */
    private static final int QUEUES = WORKERS * 2 + 2;
    /** Of each queue the block with the file's header, the one in use and the one before. Chronicle maps a quarter more of each. */
    private static final long MAPPED_JOURNALS = QUEUES * 3 * (WorkerMain.JOURNAL.blockBytes() / 4 * 5);
    /** The cursors of all workers, and the tables of their queues. */
    private static final long MAPPED_BESIDE = (WORKERS + 1) * 3 * MEGABYTE;

    @TempDir
    private Path directory;

    @Test
    void losesNothing() throws Exception {
        run(5, 0);
    }

    @Test
    @Tag("slow")
    void losesNothingAndKeepsItsMemoryForAMinute() throws Exception {
        run(10, 50);
    }

    /**
     * The memory of one worker.
     *
     * @param mapped of the home, whether it is in memory or not: how much of it is says how much was written and read meanwhile
     */
    private record Memory(long heap, long anonymous, long mapped) {
        static Memory of(WorkerProcess worker) throws Exception {
            return new Memory(worker.stat("heap"), worker.stat("RssAnon"), worker.stat("mapped"));
        }
    }

    private void run(int warmSeconds, int measuredSeconds) throws Exception {
        try (Processes processes = new Processes(directory.resolve("home"), directory)) {
            List<WorkerProcess> workers = new ArrayList<>();
            for (int i = 0; i < WORKERS; i++) {
                workers.add(processes.start("w" + i, Processes.RESERVE, Waiting.BALANCED));
            }
            for (WorkerProcess worker : workers) {
                worker.awaitReady();
            }
            String all = workers.stream().map(w -> String.valueOf(w.id())).collect(Collectors.joining(","));
            for (WorkerProcess worker : workers) {
                worker.go(all, 8, LONG_MS, 200, 500);
            }
            pass(warmSeconds);
            if (measuredSeconds > 0) {
                keepMemory(workers, measuredSeconds);
            }
            for (WorkerProcess worker : workers) {
                assertThat(worker.stop()).as("calls without an outcome").isZero();
            }
            for (WorkerProcess worker : workers) {
                worker.leave();
            }
            check(processes, workers);
        }
    }

    private static void pass(int seconds) {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() - untilNs < 0) {
            LockSupport.parkNanos(100_000_000);
        }
    }

    private static void keepMemory(List<WorkerProcess> workers, int seconds) throws Exception {
        List<Memory> before = new ArrayList<>();
        for (WorkerProcess worker : workers) {
            before.add(Memory.of(worker));
        }
        pass(seconds);
        for (int i = 0; i < WORKERS; i++) {
            Memory then = before.get(i);
            Memory now = Memory.of(workers.get(i));
            LOG.info(
                    "w{}: {} MB heap, {} MB anonymous, {} MB of the home mapped; was {}, {}, {}",
                    i,
                    now.heap / MEGABYTE,
                    now.anonymous / MEGABYTE,
                    now.mapped / MEGABYTE,
                    then.heap / MEGABYTE,
                    then.anonymous / MEGABYTE,
                    then.mapped / MEGABYTE);
            assertThat(now.heap).as("heap").isLessThan(then.heap + 4 * MEGABYTE);
            assertThat(now.anonymous).as("anonymous memory").isLessThan(then.anonymous + 32 * MEGABYTE);
            assertThat(now.mapped).as("mapped files").isLessThanOrEqualTo(MAPPED_JOURNALS + MAPPED_BESIDE);
        }
    }

    private static void check(Processes processes, List<WorkerProcess> workers) throws Exception {
        Set<Long> responded = new HashSet<>();
        Set<Long> handled = new HashSet<>();
        for (int i = 0; i < WORKERS; i++) {
            String name = "w" + i;
            Outcomes calls = processes.outcomes(name).hasNothingTwice().isBalanced();
            assertThat(calls.counts.keySet()).containsOnly(Outcomes.OK);
            assertThat(calls.refused).isEmpty();
            int id = workers.get(i).id();
            assertThat(processes.requests(id, name).sentNs.keySet()).isEqualTo(calls.sent);
            assertThat(processes.responses(id, name).sentNs.keySet()).isEqualTo(calls.handled.keySet());
            responded.addAll(calls.sent);
            handled.addAll(calls.handled.keySet());
        }
        assertThat(handled).isEqualTo(responded);
        LOG.info("{} calls between {} workers, each with its response", responded.size(), WORKERS);
    }
}
