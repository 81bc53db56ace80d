package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.Storage;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How a thread waits for a copy to the host. */
@Timeout(300)
class CopyWaitTest {

    private static final int SHORT_BYTES = 64 << 10; // no rate is noted, so that it is waited for from its begin on
    private static final int LONG_BYTES = 1 << 20;
    private static final int COPIES = 50;
    private static final long SHORT_US = 300;
    private static final long SLOW_US = 20_000;
    private static final long MAX_CPU_NS = 5_000_000; // of a copy that takes four times that

    @TempDir
    private Path directory;

    /** Copies a storage to the host, and returns for each copy whether it blocked in the driver. */
    private List<Boolean> copies(int bytes, long slowUs, long maxCpuNs) throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter converter = workers.converter();
            workers.driver.set("delay_min_us", 0);
            workers.driver.set("delay_max_us", 0);
            try (Worker worker = Waybill.connect(directory.resolve("home"), "waits")
                    .with(converter)
                    .join()) {
                Storage host = worker.buffers().allocate(bytes);
                Storage placed = converter.allocateForReceiving(host, CudaWorkers.ZERO, List.of());
                Waits.until("the segment is pinned", () -> converter.figures().pinned() == 1);
                Waits.until("it has arrived", () -> workers.driver.get("pending_work") == 0);
                workers.driver.set("slow_copy_us", slowUs);
                List<Boolean> blocked = new ArrayList<>();
                long leastCpuNs = Long.MAX_VALUE;
                for (int i = 0; i < COPIES; i++) {
                    long before = workers.driver.get("blocking_calls");
                    long cpuNs = cpuNs();
                    converter
                            .prepareForSending(placed, List.of(), worker.buffers())
                            .orElseThrow()
                            .release();
                    leastCpuNs = Math.min(leastCpuNs, cpuNs() - cpuNs);
                    blocked.add(workers.driver.get("blocking_calls") > before);
                }
                assertThat(leastCpuNs).isLessThan(maxCpuNs);
                host.release();
                placed.release();
                return blocked;
            }
        }
    }

    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    @Test
    void pollsForACopyThatIsShort() throws Exception {
        assertThat(copies(SHORT_BYTES, SHORT_US, Long.MAX_VALUE))
                .as("blocked")
                .filteredOn(blocked -> !blocked)
                .hasSizeGreaterThan(COPIES / 10);
    }

    @Test
    void sleepsUntilALongCopyIsAboutToEnd() throws Exception {
        List<Boolean> blocked = copies(LONG_BYTES, SLOW_US, MAX_CPU_NS);
        assertThat(blocked.get(0)).as("without an expectation").isTrue();
        assertThat(blocked.subList(1, COPIES)).contains(false);
    }
}
