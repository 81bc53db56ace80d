package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.device.MappedSegment;
import io.waybill.api.tensor.Storage;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Segments that are pinned while a device is used. */
@Timeout(300)
class PinnedSegmentsTest {

    private static final long PAGE = 4096;
    private static final long SLOW_US = 200_000;

    @TempDir
    private Path directory;

    private static MappedSegment around(Storage storage, MappedSegment.Use use) {
        long start = storage.address() / PAGE * PAGE;
        long end = (storage.address() + storage.sizeBytes() + PAGE - 1) / PAGE * PAGE;
        return new MappedSegment(start, end - start, use);
    }

    @Test
    void areUnpinnedAfterTheCopiesFromThem() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory);
                Worker plain =
                        Waybill.connect(directory.resolve("home"), "plain").join()) {
            CudaConverter converter = workers.converter();
            Storage host = plain.buffers().allocate(CudaWorkers.LARGE);
            MappedSegment segment = around(host, MappedSegment.Use.SENDS);
            converter.mapped(segment);
            assertThat(converter.figures().pinned())
                    .as("before a device is used")
                    .isZero();
            converter.streams(CudaWorkers.ZERO);
            Waits.until("the segment is pinned", () -> converter.figures().pinned() == 1);
            workers.driver.set("slow_copy_us", SLOW_US);
            Storage placed = converter.allocateForReceiving(host, CudaWorkers.ZERO, List.of());
            converter.unmapping(segment); // waits: the driver of the tests notes memory that is unpinned under a copy
            assertThat(converter.figures().pinned()).isZero();
            placed.release();
            host.release();
        }
    }

    @Test
    void areNotPinnedIfTheyArePeers() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter converter = workers.converter();
            converter.streams(CudaWorkers.ZERO);
            converter.mapped(new MappedSegment(PAGE, PAGE, MappedSegment.Use.RECEIVES));
            assertThat(converter.figures().pinned()).isZero();
            converter.unmapping(new MappedSegment(PAGE, PAGE, MappedSegment.Use.RECEIVES));
        }
    }
}
