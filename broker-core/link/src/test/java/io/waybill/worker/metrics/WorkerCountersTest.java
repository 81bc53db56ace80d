package io.waybill.worker.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.host.Host;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The counters of a worker, as their readers see them. */
@Timeout(120)
class WorkerCountersTest {

    private static final int THREADS = 4;
    private static final int ROUNDS = 20_000;
    private static final int CONTENDED_ROUNDS = 500_000; // few threads are interrupted in an addition

    private final WorkerCounters counters = new WorkerCounters();

    private record Counter(Runnable count, LongSupplier sum) {}

    private Map<String, Counter> all() {
        Map<String, Counter> all = new LinkedHashMap<>();
        all.put("callsSent", new Counter(counters::countSent, counters::callsSent));
        all.put("responses", new Counter(counters::countResponse, counters::responses));
        all.put("lateResponses", new Counter(counters::countLate, counters::lateResponses));
        all.put("timeouts", new Counter(counters::countTimeout, counters::timeouts));
        all.put("requestsBegun", new Counter(counters::countBegun, counters::requestsBegun));
        all.put("requestsExpired", new Counter(counters::countExpired, counters::requestsExpired));
        all.put("requestsParked", new Counter(counters::countParked, counters::requestsParked));
        all.put("requestsStuck", new Counter(counters::countStuck, counters::requestsStuck));
        all.put("pauses", new Counter(counters::countPause, counters::pauses));
        all.put("damagedRecords", new Counter(counters::countDamaged, counters::damagedRecords));
        all.put("listenerErrors", new Counter(counters::countListenerError, counters::listenerErrors));
        all.put("publishingErrors", new Counter(counters::countPublishingError, counters::publishingErrors));
        return all;
    }

    @Test
    void countsEachEventUnderItsOwnNameAlone() {
        Map<String, Long> expected = new LinkedHashMap<>();
        Map<String, Long> sums = new LinkedHashMap<>();
        long times = 0;
        for (Map.Entry<String, Counter> each : all().entrySet()) {
            expected.put(each.getKey(), ++times); // another number for each
            for (int i = 0; i < times; i++) {
                each.getValue().count().run();
            }
        }
        all().forEach((name, counter) -> sums.put(name, counter.sum().getAsLong()));
        assertThat(sums).as("counts by name").isEqualTo(expected);
    }

    @Test
    void countsErrorResponsesByTheirCode() {
        Map<ErrorCode, Long> expected = new EnumMap<>(ErrorCode.class);
        Map<ErrorCode, Long> found = new EnumMap<>(ErrorCode.class);
        for (ErrorCode code : ErrorCode.values()) { // the last one, too
            for (int i = 0; i <= code.ordinal(); i++) {
                counters.countFailure(code);
            }
            expected.put(code, code.ordinal() + 1L);
        }
        for (ErrorCode code : ErrorCode.values()) {
            found.put(code, counters.failures(code));
        }
        assertThat(found).as("failures by code").isEqualTo(expected);
    }

    /** Runs a body on several threads that begin at once, and fails with it. */
    private static void together(Runnable body) throws Exception {
        CyclicBarrier begin = new CyclicBarrier(THREADS);
        List<FutureTask<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            FutureTask<Void> task = new FutureTask<>(() -> {
                begin.await();
                body.run();
                return null;
            });
            tasks.add(task);
            Host.real().threads().start("counts-" + i, task);
        }
        for (FutureTask<Void> task : tasks) {
            task.get(100, TimeUnit.SECONDS);
        }
    }

    @Test
    void losesNoCountThatAnyThreadMayAdd() throws Exception {
        together(() -> {
            for (int i = 0; i < CONTENDED_ROUNDS; i++) {
                counters.countTimeout();
                counters.countPublishingError();
                counters.countFailure(ErrorCode.REFUSED);
            }
        });
        long all = (long) THREADS * CONTENDED_ROUNDS;
        assertThat(counters.timeouts()).as("timeouts").isEqualTo(all);
        assertThat(counters.publishingErrors()).as("publishing errors").isEqualTo(all);
        assertThat(counters.failures(ErrorCode.REFUSED)).as("failures").isEqualTo(all);
    }

    @Test
    void losesNoCountOfThreadsThatTakeTurnsUnderALock() throws Exception {
        Object lock = new Object();
        together(() -> {
            long seen = 0;
            for (int i = 0; i < ROUNDS; i++) {
                synchronized (lock) {
                    counters.countBegun();
                }
                long now = counters.requestsBegun(); // without the lock
                assertThat(now).as("what a thread reads after it has counted").isGreaterThan(seen);
                seen = now;
            }
        });
        assertThat(counters.requestsBegun()).as("requests begun").isEqualTo((long) THREADS * ROUNDS);
    }

    @Test
    void reportsAChangeOfEitherSide() {
        List<Long> seen = new ArrayList<>(List.of(counters.changes()));
        for (OperationTable side : List.of(counters.called(), counters.served())) {
            OperationCounts counts = side.of(Request.operation("peer", "test.echo"), 3, "peer");
            counts.begun();
            seen.add(counters.changes());
            counts.ended(ErrorCode.REFUSED, 1000, 10, 20);
            seen.add(counters.changes());
        }
        assertThat(seen).as("changes, after each").isSorted().doesNotHaveDuplicates();
        assertThat(counters.called().read()).as("figures of the requests sent").hasSize(1);
        assertThat(counters.served().read()).as("figures of the requests read").hasSize(1);
    }
}
