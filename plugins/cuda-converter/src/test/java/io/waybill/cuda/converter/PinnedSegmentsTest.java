package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.device.MappedSegment;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Segments that are pinned while a device is used. */
@Timeout(300)
class PinnedSegmentsTest {

    private static final long PAGE = 4096;
    private static final long SLOW_US = 200_000;
    private static final int CALLS = 5;

    @TempDir
    private Path directory;

    private static MappedSegment around(Storage storage, MappedSegment.Use use) {
        long start = storage.address() / PAGE * PAGE;
        long end = (storage.address() + storage.sizeBytes() + PAGE - 1) / PAGE * PAGE;
        return new MappedSegment(start, end - start, use, start);
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

    /** Calls with a tensor of a device, whose content is checked, and returns how many copies took a detour. */
    private static long detours(CudaWorkers workers, int seed) throws Exception {
        Tensor sent = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, seed);
        long before = workers.driver.get("pageable_copies");
        try (Response response = workers.callAsync(List.of(sent)).join()) {
            long detours = workers.driver.get("pageable_copies") - before;
            CudaWorkers.requireMarked(response.tensors().get(0), seed);
            return detours;
        }
    }

    @Test
    void bringTensorsInBothDirectionsWithoutADetour() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            AtomicInteger seed = new AtomicInteger();
            Waits.until("all segments are pinned", () -> detours(workers, seed.incrementAndGet()) == 0);
            for (int i = 0; i < CALLS; i++) {
                assertThat(detours(workers, seed.incrementAndGet())).isZero();
            }
        }
    }

    @Test
    void areUnpinnedWhenTheirPeerLeaves() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter ofServer = workers.converters.get(0);
            detours(workers, 1);
            Waits.until(
                    "the server's own and the caller's",
                    () -> ofServer.figures().pinned() == 2);
            try (Worker other = Waybill.connect(directory.resolve("home"), "other")
                    .deviceMap("server", Map.of(Device.CPU, CudaWorkers.ZERO))
                    .join()) {
                Storage storage = other.buffers().allocate(CudaWorkers.LARGE);
                call(other, "server", storage);
                storage.release();
                Waits.until("one more", () -> ofServer.figures().pinned() == 3);
            }
            Waits.until("without it", () -> ofServer.figures().pinned() == 2);
        }
    }

    private static void call(Worker caller, String callee, Storage storage) {
        Request request = Request.operation(callee, "cuda.mark");
        request.body().tensor("t", Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage));
        caller.callAsync(request).join().close();
    }

    @Test
    void areLeftForWhatWasWrittenInThem() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter converter = workers.converter();
            AtomicLong detours = new AtomicLong();
            try (Worker plain =
                            Waybill.connect(directory.resolve("home"), "plain").join();
                    Worker writes = Waybill.connect(directory.resolve("home"), "writes")
                            .with(converter)
                            .with("cuda.mark", (message, outbox) -> {
                                Storage arrived = message.tensors().get(0).storage();
                                detours.set(writeBehind(converter, arrived, workers));
                                outbox.respond(ByteBuffer.allocate(1));
                            })
                            .join()) {
                Storage zeros = plain.buffers().allocate(CudaWorkers.LARGE);
                zeros.bytes(0, CudaWorkers.LARGE).put(new byte[CudaWorkers.LARGE]);
                Waits.until("the peer's segment is pinned", () -> {
                    call(plain, writes.info().name(), zeros);
                    return detours.get() == 0;
                });
                zeros.release();
            }
        }
    }

    /** Copies zeros to a device, marks them where they arrived, and copies them again. Returns how many detours the first copy took. */
    private static long writeBehind(CudaConverter converter, Storage arrived, CudaWorkers workers)
            throws RejectedMessageException {
        long before = workers.driver.get("pageable_copies");
        Storage zeros = converter.allocateForReceiving(arrived, CudaWorkers.ZERO, List.of());
        final long detours = workers.driver.get("pageable_copies") - before;
        assertThat(DeviceCode.read(zeros).get(0)).isZero();
        DeviceCode.set(zeros, 0, CudaWorkers.MARK);
        DeviceCode.within(
                CudaWorkers.ZERO,
                () -> JCudaDriver.cuMemcpyDtoH(new HostPointer(arrived.address()), DeviceCode.at(zeros), 1));
        Storage marked = converter.allocateForReceiving(arrived, CudaWorkers.ZERO, List.of());
        assertThat(DeviceCode.read(marked).get(0)).isEqualTo((byte) CudaWorkers.MARK);
        zeros.release();
        marked.release();
        return detours;
    }

    @Test
    void arePinnedForSendingAloneWhereADeviceCantReadOnly() throws Exception {
        List<String> warnings = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                if (line.getLevel() == Level.WARNING) {
                    warnings.add(line.getMessage());
                }
            }

            @Override
            public void flush() {
                // nothing is kept back
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
        Logger logger = Logger.getLogger(PinnedSegments.class.getName());
        logger.addHandler(handler);
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            workers.driver.set("read_only_register", 0);
            for (int i = 0; i < CALLS; i++) {
                detours(workers, i);
            }
            workers.converters.forEach(converter ->
                    Waits.until("its own is pinned", () -> converter.figures().pinned() == 1));
            assertThat(detours(workers, 1)).as("arriving there and back").isEqualTo(2);
            assertThat(warnings)
                    .as("one for each worker that receives")
                    .hasSize(2)
                    .allMatch(text -> text.contains("can't use memory that is pinned for reading only"));
        } finally {
            logger.removeHandler(handler);
        }
    }
}
