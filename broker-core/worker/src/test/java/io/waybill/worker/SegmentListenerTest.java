package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappedSegment.Use;
import io.waybill.api.device.MappingListener;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Converters that are notified of segments, in workers that send each other tensors. */
@Timeout(300)
class SegmentListenerTest {

    private static final int BYTES = 1 << 20;

    @TempDir
    private Path directory;

    /** Pins: reads the last byte of each segment as long as it is mapped. */
    private static final class Pinning implements DeviceConverter, MappingListener {
        private final Set<MappedSegment> pinned = ConcurrentHashMap.newKeySet();
        private final AtomicInteger wrong = new AtomicInteger();
        private final AtomicInteger unpinned = new AtomicInteger();

        @Override
        public void mapped(MappedSegment segment) {
            if (!pinned.add(segment) || !isMapped(segment)) {
                wrong.incrementAndGet();
            }
        }

        @Override
        public void unmapping(MappedSegment segment) {
            if (!pinned.remove(segment) || !isMapped(segment)) {
                wrong.incrementAndGet();
            }
            unpinned.incrementAndGet();
        }

        /** Asks the kernel: a segment that is not mapped must not be touched. */
        private static boolean isMapped(MappedSegment segment) {
            boolean isOwn = segment.use() == Use.SENDS;
            return isMapped(segment.address(), segment, isOwn ? "rw-s" : "rw-p")
                    && isMapped(segment.readAddress(), segment, isOwn ? "rw-s" : "r--s");
        }

        private static boolean isMapped(long address, MappedSegment segment, String access) {
            try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
                return lines.anyMatch(line ->
                        line.contains(access) && line.contains(".seg") && covers(line, address, segment.sizeBytes()));
            } catch (java.io.IOException e) {
                throw new AssertionError(segment.toString(), e);
            }
        }

        private static boolean covers(String line, long address, long sizeBytes) {
            long from = Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16);
            long to = Long.parseUnsignedLong(line.substring(line.indexOf('-') + 1, line.indexOf(' ')), 16);
            return from <= address && address + sizeBytes <= to;
        }

        boolean holds(Use use, long address) {
            return pinned.stream()
                    .anyMatch(segment -> segment.use() == use
                            && address >= segment.address()
                            && address < segment.address() + segment.sizeBytes());
        }

        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void pinsTheSegmentsOfBothDirections() throws Exception {
        AtomicLong arrivedAt = new AtomicLong();
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            Worker server = workers.join("server", handlers);
            workers.handle(handlers, "pin.echo", (message, outbox) -> {
                Tensor tensor = message.tensors().get(0);
                arrivedAt.set(tensor.storage().address());
                tensor.storage().retain();
                outbox.respond(ByteBuffer.allocate(1), message.tensors());
            });
            Pinning late = new Pinning();
            Pinning early = new Pinning();
            server.devices().register("early", early);
            Worker caller = workers.join("caller", workers.registry());
            long sentAt = call(caller);
            server.devices().register("late", late);
            for (Pinning each : List.of(early, late)) {
                Waits.until("a peer's segment", () -> each.holds(Use.RECEIVES, arrivedAt.get()));
                Waits.until("an own segment", () -> each.pinned.stream().anyMatch(s -> s.use() == Use.SENDS));
            }
            Pinning atCaller = new Pinning();
            caller.devices().register("late", atCaller);
            Waits.until("the caller's segment", () -> atCaller.holds(Use.SENDS, sentAt));

            server.devices().remove("late", late);
            assertThat(late.pinned).as("pinned after the converter has left").isEmpty();
            caller.close();
            assertThat(atCaller.pinned).as("pinned after the worker has left").isEmpty();
            Waits.until("the segment of a peer that left", () -> !early.holds(Use.RECEIVES, arrivedAt.get()));
            server.close();
            assertThat(early.pinned).isEmpty();
            assertThat(early.unpinned.get()).isPositive();
            assertThat(early.wrong.get() + late.wrong.get() + atCaller.wrong.get())
                    .as("calls twice, or for a segment that is not mapped")
                    .isZero();
        }
    }

    private static long call(Worker caller) {
        Tensor tensor = Tensor.contiguous(
                DType.UINT8, new long[] {BYTES}, caller.buffers().allocate(BYTES));
        long address = tensor.storage().address();
        Request request = Request.operation("server", "pin.echo");
        request.body().tensor("t", tensor);
        try (Response response = caller.call(request)) {
            assertThat(response.tensors()).hasSize(1);
        }
        tensor.storage().release();
        return address;
    }
}
