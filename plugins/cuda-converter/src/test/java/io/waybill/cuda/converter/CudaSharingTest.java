package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import jcuda.driver.SharedMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handles of device memory: within one process, and those that are none. What other processes do is in {@code SharedMemoryTest}. */
@Timeout(300)
class CudaSharingTest {

    @TempDir
    private Path directory;

    /** Stands for the storage of a sender. */
    private static final class OfSender implements Storage {
        final AtomicInteger count = new AtomicInteger(1);
        private final long size;

        OfSender(long size) {
            this.size = size;
        }

        @Override
        public Device device() {
            return CudaWorkers.ZERO;
        }

        @Override
        public long sizeBytes() {
            return size;
        }

        @Override
        public long address() {
            throw new IllegalStateException();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new IllegalStateException();
        }

        @Override
        public Storage retain() {
            count.incrementAndGet();
            return this;
        }

        @Override
        public void release() {
            count.decrementAndGet();
        }
    }

    private static ByteBuffer share(CudaConverter converter, Tensor tensor) throws RejectedMessageException {
        return converter
                .share(tensor.storage(), converter.streams(tensor.device()))
                .orElseThrow();
    }

    private static Storage open(CudaConverter converter, ByteBuffer handle, Storage ofSender, Device target)
            throws RejectedMessageException {
        return converter.open(handle, ofSender, target, converter.streams(target));
    }

    private static void requireRefused(CudaConverter converter, ByteBuffer handle, ErrorCode code, String text) {
        OfSender ofSender = new OfSender(CudaWorkers.LARGE);
        assertThatThrownBy(() -> open(converter, handle, ofSender, CudaWorkers.ZERO))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(code))
                .hasMessageContaining(text);
        assertThat(ofSender.count.get()).isEqualTo(1);
    }

    @Test
    void findsAStorageOfTheSameProcess() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            Tensor tensor = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 4);
            ByteBuffer handle = share(workers.ofProgram, tensor);
            assertThat(handle.remaining()).isBetween(1, CudaConverter.MAX_HANDLE_BYTES);
            CudaConverter another = workers.converter();
            Storage opened = open(another, handle, new OfSender(CudaWorkers.LARGE), CudaWorkers.ZERO);
            assertThat(opened.deviceAddress()).isEqualTo(tensor.storage().deviceAddress());
            assertThat(share(workers.ofProgram, tensor))
                    .as("the same each time")
                    .isEqualTo(handle);
            tensor.storage().release();
            assertThat(opened.deviceAddress()).as("is held").isNotZero();
            opened.release();
            requireRefused(another, handle, ErrorCode.PEER_CORRUPT, "is released");
        }
    }

    @Test
    void waitsForTheContentBeforeItShares() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            Tensor tensor = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 4);
            Waits.until("it has arrived", () -> workers.driver.get("pending_work") == 0);
            workers.driver.set("hold", 1); // nothing runs that is not waited for
            DeviceCode.set(tensor.storage(), 0, CudaWorkers.MARK);
            assertThat(workers.driver.get("pending_work")).isPositive();
            share(workers.ofProgram, tensor);
            assertThat(workers.driver.get("pending_work")).isZero();
            CudaWorkers.requireMarked(tensor, 4);
            tensor.storage().release();
        }
    }

    @Test
    void copiesAStorageOfTheSameProcessToAnotherDevice() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            workers.driver.set("hold", 1);
            Tensor tensor = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 4);
            ByteBuffer handle = share(workers.ofProgram, tensor);
            Storage opened = open(workers.ofProgram, handle, new OfSender(CudaWorkers.LARGE), CudaWorkers.ONE);
            assertThat(opened.device()).isEqualTo(CudaWorkers.ONE);
            tensor.storage().release(); // while it is copied
            CudaWorkers.requireContent(opened, 4);
            opened.release();
        }
    }

    @Test
    void refusesHandlesThatAreNone() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            CudaConverter converter = workers.ofProgram;
            Tensor tensor = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 4);
            SharedHandle handle = SharedHandle.decode(share(converter, tensor));
            requireRefused(converter, ByteBuffer.allocate(0), ErrorCode.PEER_CORRUPT, "and 0 bytes");
            requireRefused(converter, ByteBuffer.allocate(256), ErrorCode.PEER_CORRUPT, "found version 0");
            requireRefused(converter, handle.encode().limit(100).slice(), ErrorCode.PEER_CORRUPT, "and 100 bytes");
            SharedHandle unknown = new SharedHandle(1, new UUID(1, 2), 0, new byte[SharedMemory.HANDLE_BYTES]);
            requireRefused(converter, unknown.encode(), ErrorCode.DEVICE_UNAVAILABLE, "GPU-00000000-0000-0001");
            SharedHandle wrong = new SharedHandle(1, handle.device(), 0, new byte[SharedMemory.HANDLE_BYTES]);
            requireRefused(converter, wrong.encode(), ErrorCode.DEVICE_UNAVAILABLE, "cuIpcOpenMemHandle failed");
            assertThatThrownBy(() -> open(converter, handle.encode(), new OfSender(1), CudaWorkers.ZERO))
                    .hasMessageContaining("found one of 1");
            tensor.storage().release();
        }
    }

    @Test
    void letsTensorsBeCopiedWhenTheDriverDoesNotShareThem() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            Tensor tensor = workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 4);
            workers.driver.set("share_memory", 0);
            assertThat(workers.ofProgram.share(tensor.storage(), workers.ofProgram.streams(tensor.device())))
                    .isEmpty();
            tensor.storage().release();
        }
    }
}
