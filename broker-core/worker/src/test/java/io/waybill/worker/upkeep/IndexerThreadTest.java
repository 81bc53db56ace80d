package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Clock;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.journal.index.JournalIndex;
import io.waybill.testing.core.Waits;
import io.waybill.worker.metrics.WorkerCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The indexer on its own thread: what it leaves at its end, and the share of time that it takes. */
@Timeout(120)
class IndexerThreadTest {

    private static final int MANY_CALLS = 20_000;
    private static final int MANY_RECORDS = 22_000;
    private static final int RECORDS = 2_500;
    private static final int BUSY_PAUSES = 5;
    private static final Duration TICK = Duration.ofMillis(1);

    @TempDir
    private Path directory;

    private final WorkerCounters counters = new WorkerCounters();
    private Path worker;
    private WrittenQueue requests;
    private WrittenQueue responses;

    @BeforeEach
    void open() {
        worker = directory.resolve("3-w");
        responses = WrittenQueue.open(worker, JournalQueue.RESPONSES);
    }

    @AfterEach
    void close() {
        requests.close();
        responses.close();
    }

    private void write(int records) {
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, records).close();
        requests = WrittenQueue.open(worker, JournalQueue.REQUESTS);
    }

    private Indexer indexer(Host host) {
        IndexBuilder builder = IndexBuilder.open(worker, WrittenQueue.settings(), host);
        return new Indexer(builder, requests.journal(), responses.journal(), counters, host);
    }

    private void runFor(int calls) {
        Indexer indexer = indexer(WrittenQueue.HOST);
        indexer.start("w", WrittenQueue.HOST.threads());
        for (int call = 0; call < calls; call++) {
            counters.countBegun();
        }
        indexer.close();
    }

    private long lastIndexed() throws IOException {
        try (JournalIndex index = JournalIndex.open(worker, WrittenQueue.settings(), WrittenQueue.HOST)) {
            return index.lastIndexed(JournalQueue.REQUESTS).orElse(-1);
        }
    }

    @Test
    void completesTheIndexAtItsEndWhenItsWorkerWasBusy() throws IOException {
        write(RECORDS);
        runFor(MANY_CALLS);
        assertThat(lastIndexed()).as("the last indexed record").isEqualTo(RECORDS - 1);
    }

    @Test
    void leavesNoIndexOfAWorkerWithFewRecords() {
        write(RECORDS);
        runFor(MANY_CALLS - RECORDS - 1);
        assertThat(worker.resolve("index"))
                .as("an index of %d records", MANY_CALLS - 1)
                .doesNotExist();
    }

    /** Another process opens it next. */
    @Test
    void closesTheIndexWhenNoThreadWasStarted() throws IOException {
        write(RECORDS);
        for (int call = 0; call < MANY_CALLS; call++) {
            counters.countSent();
        }
        for (int opened = 1; opened <= 2; opened++) {
            Indexer indexer = indexer(WrittenQueue.HOST);
            indexer.doWork(); // begins the rest after the start
            indexer.doWork();
            indexer.close();
            assertThat(lastIndexed())
                    .as("the last indexed record, at end %d", opened)
                    .isEqualTo(1_000L * opened - 1);
        }
    }

    /** Threads whose pauses are noted and take no real time until the indexer has caught up; calls are sent in the first. */
    private final class NotedPauses implements Threads {

        private final List<Duration> pauses = new CopyOnWriteArrayList<>();
        private final ManualClock clock;

        NotedPauses(ManualClock clock) {
            this.clock = clock;
        }

        @Override
        public Thread start(String name, Runnable body) {
            return WrittenQueue.HOST.threads().start(name, body);
        }

        @Override
        public void pause(long ns) {
            if (pauses.size() > BUSY_PAUSES + 1) {
                LockSupport.parkNanos(TICK.toNanos());
                return;
            }
            pauses.add(Duration.ofNanos(ns));
            if (pauses.size() <= BUSY_PAUSES) {
                counters.countSent();
            }
            clock.advance(Duration.ofNanos(ns));
        }
    }

    @Test
    void takesTwoPercentOfItsTimeWhileCallsAreSentAndCatchesUpWithoutThem() throws IOException {
        write(MANY_RECORDS);
        ManualClock clock = new ManualClock();
        Clock ticking = new ForwardingClock(clock) { // each step takes a tick
                    @Override
                    public long monotonicNs() {
                        clock.advance(TICK);
                        return super.monotonicNs();
                    }
                };
        NotedPauses threads = new NotedPauses(clock);
        Host host = WrittenQueue.HOST.withClock(ticking).withThreads(threads);
        try (Indexer indexer = indexer(host)) {
            indexer.start("w", host.threads());
            Waits.until(() -> "it rests: " + threads.pauses, () -> threads.pauses.size() > BUSY_PAUSES + 1);
        }
        List<Duration> pauses = threads.pauses;
        assertThat(pauses.get(0))
                .as("the pause after the start")
                .isBetween(Duration.ofMillis(2_900), Duration.ofSeconds(3));
        assertThat(pauses.subList(1, BUSY_PAUSES + 1))
                .as("pauses while calls are sent, each after a step of one or two ticks")
                .allSatisfy(pause -> assertThat(pause).isBetween(TICK.multipliedBy(45), TICK.multipliedBy(100)));
        assertThat(pauses.get(BUSY_PAUSES + 1))
                .as("the next pause: it has caught up without any")
                .isGreaterThan(Duration.ofSeconds(4));
        assertThat(lastIndexed()).as("the last indexed record").isEqualTo(MANY_RECORDS - 1);
    }
}
