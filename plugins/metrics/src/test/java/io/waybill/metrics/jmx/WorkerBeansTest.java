package io.waybill.metrics.jmx;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The workers of a home in an MBean server. */
@Timeout(180)
class WorkerBeansTest {

    @TempDir
    private Path home;

    private final MBeanServer server = MBeanServerFactory.newMBeanServer();
    private volatile List<WorkerMetrics> workers = List.of(metrics("ps0", 1), metrics("a:b-c", 2));
    private Worker worker;
    private WorkerBeans beans;

    @BeforeEach
    void join() throws IOException {
        worker = Waybill.connect(home, "ps0").join();
    }

    @AfterEach
    void leave() throws IOException {
        beans.close();
        worker.close();
    }

    private static WorkerMetrics metrics(String name, int id) {
        long[] counts = new long[LatencyHistogram.BUCKETS];
        counts[LatencyHistogram.bucketOf(5_000_000)] = 3;
        OperationMetrics operation = new OperationMetrics(
                MessageType.NAMED_CALL,
                "text.count",
                "trainer",
                3,
                Map.of(ErrorCode.REFUSED, 1L),
                1,
                1,
                4,
                5,
                LatencyHistogram.of(counts, 15_000_000, 5_000_000));
        return new WorkerMetrics(
                new WorkerInfo(id, name), 1, 4711, 1, 2, List.of(operation), List.of(), Map.of("links", 6L));
    }

    private void show() {
        beans = new WorkerBeans(() -> workers, worker.broker(), server);
    }

    private int count() {
        try {
            return server.queryNames(new ObjectName("io.waybill:*"), null).size();
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void showEachWorkerUntilTheyAreClosed() throws Exception {
        show();
        assertThat(count()).isEqualTo(2);
        ObjectName name = new ObjectName("io.waybill:type=Worker,name=\"ps0\"");
        assertThat(server.getAttribute(name, "Served")).isEqualTo(3L);
        assertThat(server.getAttribute(name, "ServedErrors")).isEqualTo(1L);
        assertThat(server.getAttribute(name, "ServedInFlight")).isEqualTo(4L);
        assertThat(server.getAttribute(name, "Parked")).isEqualTo(5L);
        assertThat(server.getAttribute(name, "Called")).isEqualTo(0L);
        assertThat((double) server.getAttribute(name, "ServedMaxMs")).isEqualTo(5);
        TabularData values = (TabularData) server.getAttribute(name, "Values");
        assertThat(values.get(new Object[] {"links"}).get("value")).isEqualTo(6L);
        beans.close();
        assertThat(count()).isZero();
    }

    @Test
    void followTheHome() {
        show();
        workers = List.of(metrics("ps0", 1), metrics("ps1", 3), metrics("ps2", 4));
        Waits.until("the new ones are there, and the old one is gone", () -> count() == 3);
        workers = List.of();
        Waits.until("all are gone", () -> count() == 0);
    }

    @Test
    void areBounded() {
        workers = IntStream.range(0, WorkerBeans.MAX_BEANS + 50)
                .mapToObj(id -> metrics("worker" + id, id))
                .toList();
        show();
        assertThat(count()).isEqualTo(WorkerBeans.MAX_BEANS);
    }
}
