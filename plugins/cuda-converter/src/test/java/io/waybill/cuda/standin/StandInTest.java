package io.waybill.cuda.standin;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cuda.CudaNatives;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUipcEventHandle;
import jcuda.driver.CUipcMemHandle;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the other tests of CUDA rely on: through the stand-in driver and JCuda, a copy that nothing waited for leaves wrong data, what a program may not
 * do is counted, and failures come when they are asked for.
 */
@Timeout(300)
class StandInTest {

    private static final int BYTES = 1 << 16;
    private static final int ILLEGAL_ADDRESS = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS;
    private static final int READ_ONLY = JCudaDriver.CU_MEMHOSTREGISTER_READ_ONLY;
    private static final byte GARBAGE = (byte) 0xa5; // what new memory of a device has

    private static StandIn driver;
    private static final CUcontext[] CONTEXTS = {new CUcontext(), new CUcontext()};

    @TempDir
    private Path directory;

    private long expected; // violations

    @BeforeAll
    static void loadDriver() throws IOException {
        driver = StandIn.ofThisJvm();
        driver.set("devices", CONTEXTS.length);
        CudaNatives.configure(
                driver.library().resolveSibling("natives").toString(),
                driver.library().toString());
        CudaNatives.load();
        ok(JCudaDriver.cuInit(0));
    }

    @BeforeEach
    void retainContexts() {
        driver.reset();
        for (int i = CONTEXTS.length - 1; i >= 0; i--) {
            ok(JCudaDriver.cuDevicePrimaryCtxRetain(CONTEXTS[i], device(i)));
            ok(JCudaDriver.cuCtxSetCurrent(CONTEXTS[i]));
        }
    }

    @AfterEach
    void findsNothingLeft() {
        driver.set("hold", 0);
        for (int i = 0; i < CONTEXTS.length; i++) {
            ok(JCudaDriver.cuDevicePrimaryCtxRelease(device(i)));
        }
        Waits.until("all work is done", () -> driver.get("pending_work") == 0);
        assertThat(driver.nonZero("live_")).isEmpty();
        assertThat(driver.get("violations")).isEqualTo(expected);
    }

    @Test
    void movesBytesThereAndBack() {
        CUdeviceptr memory = allocate();
        ByteBuffer back = ByteBuffer.allocateDirect(BYTES);
        assertThat(on(memory)).containsOnly(GARBAGE);
        ok(JCudaDriver.cuMemcpyHtoD(memory, Pointer.to(filled(1)), BYTES));
        ok(JCudaDriver.cuMemcpyDtoH(Pointer.to(back), memory, BYTES));
        assertThat(bytes(back)).containsOnly(1);
        ok(JCudaDriver.cuMemFree(memory));
    }

    @Test
    void readsPinnedMemoryWhenTheCopyRuns() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer source = pinned(1);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, stream));
        fill(source, 2); // too early: nothing waited for the copy
        ok(JCudaDriver.cuStreamSynchronize(stream));
        assertThat(on(memory)).containsOnly(2);
        unpin(source);
        free(memory, stream);
    }

    @Test
    void readsPageableMemoryAtTheCall() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer source = filled(1);
        driver.set("hold", 1);
        long pageable = driver.get("pageable_copies");
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, stream));
        fill(source, 2);
        ok(JCudaDriver.cuStreamSynchronize(stream));
        assertThat(on(memory)).containsOnly(1);
        assertThat(driver.get("pageable_copies")).isGreaterThan(pageable);
        free(memory, stream);
    }

    @Test
    void leavesOldBytesWhereNothingWaited() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer target = pinned(7);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, stream));
        assertThat(bytes(target)).containsOnly(7);
        assertThat(JCudaDriver.cuStreamQuery(stream)).isEqualTo(CUresult.CUDA_ERROR_NOT_READY);
        Waits.until("the copy is done", () -> JCudaDriver.cuStreamQuery(stream) == CUresult.CUDA_SUCCESS);
        assertThat(bytes(target)).containsOnly(GARBAGE);
        unpin(target);
        free(memory, stream);
    }

    @Test
    void mixesStreamsThatDoNotWaitForEachOther() {
        driver.set("hold", 1);
        assertThat(copiedThroughTwoStreams(false)).containsOnly(GARBAGE);
        assertThat(copiedThroughTwoStreams(true)).containsOnly(1);
    }

    @Test
    void mixesStreamsWhoseWorkIsDoneByItself() {
        driver.set("delay_max_us", 20_000);
        boolean isWrong = false;
        for (int i = 0; i < 100 && !isWrong; i++) {
            assertThat(copiedThroughTwoStreams(true)).containsOnly(1);
            isWrong = copiedThroughTwoStreams(false)[0] == GARBAGE;
        }
        assertThat(isWrong).as("a copy overtook another one").isTrue();
    }

    /** Copies to the device on one stream and back on another one, which waits for it or does not. Returns what came back. */
    private byte[] copiedThroughTwoStreams(boolean waits) {
        CUdeviceptr memory = allocate();
        CUstream there = stream();
        CUstream back = stream();
        CUevent arrived = new CUevent();
        ok(JCudaDriver.cuEventCreate(arrived, CUevent_flags.CU_EVENT_DISABLE_TIMING));
        ByteBuffer source = pinned(1);
        ByteBuffer target = pinned(0);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, there));
        ok(JCudaDriver.cuEventRecord(arrived, there));
        if (waits) {
            ok(JCudaDriver.cuStreamWaitEvent(back, arrived, 0));
        }
        ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, back));
        ok(JCudaDriver.cuStreamSynchronize(back));
        byte[] copied = bytes(target);
        ok(JCudaDriver.cuStreamSynchronize(there));
        ok(JCudaDriver.cuEventDestroy(arrived));
        unpin(source);
        unpin(target);
        ok(JCudaDriver.cuStreamDestroy(back));
        free(memory, there);
        return copied;
    }

    @Test
    void hasAStreamForEachThreadThatWaitsForTheLegacyStreamAlone() throws InterruptedException {
        CUdeviceptr memory = allocate();
        CUstream perThread = JCudaDriver.CU_STREAM_PER_THREAD;
        ByteBuffer source = pinned(1);
        ByteBuffer target = pinned(0);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, perThread));
        Thread other = new Thread(() -> {
            ok(JCudaDriver.cuCtxSetCurrent(CONTEXTS[0]));
            ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, perThread));
            ok(JCudaDriver.cuStreamSynchronize(perThread));
        });
        other.start();
        other.join();
        assertThat(bytes(target)).containsOnly(GARBAGE);
        ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, JCudaDriver.CU_STREAM_LEGACY));
        ok(JCudaDriver.cuStreamSynchronize(JCudaDriver.CU_STREAM_LEGACY));
        assertThat(bytes(target)).containsOnly(1);
        unpin(source);
        unpin(target);
        ok(JCudaDriver.cuMemFree(memory));
    }

    @Test
    void runsHostFunctionsBehindTheWork() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer target = pinned(7);
        AtomicInteger seen = new AtomicInteger(-1);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, stream));
        ok(JCudaDriver.cuLaunchHostFunc(stream, data -> seen.set(target.get(0)), null));
        Waits.until("the function ran", () -> seen.get() != -1);
        assertThat((byte) seen.get()).isEqualTo(GARBAGE);
        unpin(target);
        free(memory, stream);
    }

    @Test
    void copiesBetweenDevices() {
        CUdeviceptr here = allocate();
        ok(JCudaDriver.cuMemcpyHtoD(here, Pointer.to(filled(3)), BYTES));
        ok(JCudaDriver.cuCtxSynchronize());
        ok(JCudaDriver.cuCtxSetCurrent(CONTEXTS[1]));
        CUdeviceptr there = allocate();
        ok(JCudaDriver.cuMemcpyPeer(there, CONTEXTS[1], here, CONTEXTS[0], BYTES));
        assertThat(on(there)).containsOnly(3);
        ok(JCudaDriver.cuMemFree(there));
        assertThat(JCudaDriver.cuMemcpyDtoD(here, here, BYTES)).isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("wrong_context");
        ok(JCudaDriver.cuCtxEnablePeerAccess(CONTEXTS[0], 0));
        ok(JCudaDriver.cuMemcpyDtoD(here, here, BYTES));
        ok(JCudaDriver.cuCtxSynchronize());
        ok(JCudaDriver.cuMemFree(here));
    }

    @Test
    void countsUseAfterFree() {
        CUdeviceptr memory = allocate();
        ok(JCudaDriver.cuMemFree(memory));
        assertThat(JCudaDriver.cuMemcpyHtoD(memory, Pointer.to(filled(1)), BYTES))
                .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("use_after_free");
        assertThat(JCudaDriver.cuMemFree(memory)).isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("double_free");
    }

    @Test
    void countsMemoryFreedBeforeTheCopyRan() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer source = pinned(1);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, stream));
        ok(JCudaDriver.cuMemFree(memory));
        assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(ILLEGAL_ADDRESS);
        expect("use_after_free");
        assertThat(JCudaDriver.cuMemHostUnregister(Pointer.to(source))).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuStreamDestroy(stream)).isEqualTo(ILLEGAL_ADDRESS);
    }

    @Test
    void countsWhatIsOutOfBounds() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer source = pinned(1);
        assertThat(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(source), memory.withByteOffset(1), BYTES, stream))
                .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("out_of_bounds");
        assertThat(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source).withByteOffset(1), BYTES, stream))
                .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("out_of_bounds");
        unpin(source);
        free(memory, stream);
    }

    @Test
    void countsAnotherDevicesStreamsEventsAndMemory() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        CUevent event = new CUevent();
        ok(JCudaDriver.cuEventCreate(event, 0));
        ok(JCudaDriver.cuCtxSetCurrent(CONTEXTS[1]));
        CUstream other = stream();
        assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
        expect("wrong_context");
        assertThat(JCudaDriver.cuEventRecord(event, other)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
        expect("wrong_context");
        assertThat(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(filled(1)), BYTES, other))
                .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
        expect("wrong_context");
        ok(JCudaDriver.cuStreamDestroy(other));
        ok(JCudaDriver.cuCtxSetCurrent(CONTEXTS[0]));
        ok(JCudaDriver.cuEventDestroy(event));
        free(memory, stream);
    }

    @Test
    void countsHostMemoryUnregisteredTwiceOrTooEarly() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer source = pinned(1);
        assertThat(JCudaDriver.cuMemHostRegister(Pointer.to(source), BYTES, 0))
                .isEqualTo(CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, stream));
        unpin(source);
        assertThat(JCudaDriver.cuMemHostUnregister(Pointer.to(source)))
                .isEqualTo(CUresult.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        expect("not_registered");
        assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(ILLEGAL_ADDRESS);
        expect("not_registered");
        assertThat(JCudaDriver.cuStreamDestroy(stream)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuMemFree(memory)).isEqualTo(ILLEGAL_ADDRESS);
    }

    @Test
    void survivesHostMemoryThatIsGone() throws IOException {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        try (FileChannel file = FileChannel.open(
                directory.resolve("file"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
            ok(JCudaDriver.cuMemHostRegister(Pointer.to(mapped), BYTES, 0));
            file.truncate(0);
            ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(mapped), BYTES, stream));
            assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(ILLEGAL_ADDRESS);
            expect("bad_host_memory");
            assertThat(JCudaDriver.cuMemHostUnregister(Pointer.to(mapped))).isEqualTo(ILLEGAL_ADDRESS);
        }
        assertThat(JCudaDriver.cuStreamDestroy(stream)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuMemFree(memory)).isEqualTo(ILLEGAL_ADDRESS);
    }

    @Test
    void givesPinnedPagesOfAPrivateMappingACopyOfTheirOwn() throws IOException {
        assertThat(copiedFromAPrivateMapping(false)).containsOnly(2);
        assertThat(copiedFromAPrivateMapping(true)).containsOnly(1);
    }

    /** Copies from a file that changes after it was mapped privately, and perhaps pinned. Returns what arrived. */
    private byte[] copiedFromAPrivateMapping(boolean isPinned) throws IOException {
        CUdeviceptr memory = allocate();
        try (FileChannel file = FileChannel.open(
                directory.resolve("private-" + isPinned),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            file.write(filled(1), 0);
            ByteBuffer mapped = file.map(FileChannel.MapMode.PRIVATE, 0, BYTES);
            if (isPinned) {
                ok(JCudaDriver.cuMemHostRegister(Pointer.to(mapped), BYTES, 0));
            }
            file.write(filled(2), 0);
            ok(JCudaDriver.cuMemcpyHtoD(memory, Pointer.to(mapped), BYTES));
            byte[] arrived = on(memory);
            if (isPinned) {
                unpin(mapped);
            }
            ok(JCudaDriver.cuMemFree(memory));
            return arrived;
        }
    }

    @Test
    void pinsWhatCantBeWrittenForReadingOnly() throws IOException {
        CUdeviceptr memory = allocate();
        Path path = directory.resolve("read-only");
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            file.write(filled(1), 0);
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_ONLY, 0, BYTES);
            Pointer host = Pointer.to(mapped);
            assertThat(JCudaDriver.cuMemHostRegister(host, BYTES, 0)).isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
            driver.set("read_only_register", 0);
            assertThat(JCudaDriver.cuMemHostRegister(host, BYTES, READ_ONLY))
                    .isEqualTo(CUresult.CUDA_ERROR_NOT_SUPPORTED);
            driver.set("read_only_register", 1);
            ok(JCudaDriver.cuMemHostRegister(host, BYTES, READ_ONLY));
            file.write(filled(2), 0);
            ok(JCudaDriver.cuMemcpyHtoD(memory, host, BYTES));
            assertThat(on(memory)).as("what was written after it was pinned").containsOnly(2);
            unpin(mapped);

            ByteBuffer writable = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
            ok(JCudaDriver.cuMemHostRegister(Pointer.to(writable), BYTES, READ_ONLY));
            assertThat(JCudaDriver.cuMemcpyDtoH(Pointer.to(writable), memory, BYTES))
                    .isEqualTo(ILLEGAL_ADDRESS);
            expect("bad_host_memory");
            assertThat(JCudaDriver.cuMemHostUnregister(Pointer.to(writable))).isEqualTo(ILLEGAL_ADDRESS);
        }
        assertThat(JCudaDriver.cuMemFree(memory)).isEqualTo(ILLEGAL_ADDRESS);
    }

    @Test
    void countsDestroyedStreamsAndEvents() {
        CUstream stream = stream();
        CUevent event = new CUevent();
        ok(JCudaDriver.cuEventCreate(event, 0));
        ok(JCudaDriver.cuStreamDestroy(stream));
        ok(JCudaDriver.cuEventDestroy(event));
        assertThat(JCudaDriver.cuStreamQuery(stream)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
        expect("bad_stream");
        assertThat(JCudaDriver.cuEventQuery(event)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
        expect("bad_event");
    }

    @Test
    void countsCallsInHostFunctions() {
        CUstream stream = stream();
        AtomicInteger result = new AtomicInteger(-1);
        ok(JCudaDriver.cuLaunchHostFunc(stream, data -> result.set(JCudaDriver.cuCtxSynchronize()), null));
        Waits.until("the function ran", () -> result.get() != -1);
        assertThat(result).hasValue(CUresult.CUDA_ERROR_NOT_PERMITTED);
        expect("call_in_host_function");
        ok(JCudaDriver.cuStreamDestroy(stream));
    }

    @Test
    void countsWhatAContextLeaves() {
        allocate();
        pinned(1);
        ok(JCudaDriver.cuDevicePrimaryCtxRelease(device(0)));
        expect("left_at_release");
        ok(JCudaDriver.cuDevicePrimaryCtxRetain(CONTEXTS[0], device(0)));
    }

    @Test
    void failsWhenItIsAskedTo() {
        driver.set("init_error", CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
        assertThat(JCudaDriver.cuInit(0)).isEqualTo(CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
        driver.set("fail_allocation_at", 2);
        CUdeviceptr memory = allocate();
        CUdeviceptr none = new CUdeviceptr();
        assertThat(JCudaDriver.cuMemAlloc(none, BYTES)).isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        driver.set("device_bytes", BYTES + 1);
        assertThat(JCudaDriver.cuMemAlloc(none, 2)).isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        driver.set("fail_register_at", 1);
        driver.set("register_error", CUresult.CUDA_ERROR_NOT_SUPPORTED);
        assertThat(JCudaDriver.cuMemHostRegister(Pointer.to(filled(1)), BYTES, 0))
                .isEqualTo(CUresult.CUDA_ERROR_NOT_SUPPORTED);
        driver.set("fail_stream_at", 1);
        assertThat(JCudaDriver.cuStreamCreate(new CUstream(), 0)).isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        driver.set("fail_event_at", 1);
        assertThat(JCudaDriver.cuEventCreate(new CUevent(), 0)).isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        driver.set("fail_enqueue_at", 1);
        assertThat(JCudaDriver.cuMemcpyHtoD(memory, Pointer.to(filled(1)), BYTES))
                .isEqualTo(CUresult.CUDA_ERROR_UNKNOWN);
        ok(JCudaDriver.cuMemFree(memory));
    }

    @Test
    void losesADeviceByACopyThatFails() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        driver.set("fail_copy_at", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(filled(1)), BYTES, stream));
        assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuMemAlloc(new CUdeviceptr(), BYTES)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuStreamDestroy(stream)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(JCudaDriver.cuMemFree(memory)).isEqualTo(ILLEGAL_ADDRESS);
    }

    @Test
    void losesADeviceThatATestTakesAway() {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        ByteBuffer target = pinned(7);
        AtomicInteger status = new AtomicInteger(-1);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(target), memory, BYTES, stream));
        driver.set("lost_error", CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE);
        driver.set("lost_devices", 1);
        assertThat(JCudaDriver.cuStreamSynchronize(stream)).isEqualTo(CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE);
        Waits.until("the copy is over", () -> driver.get("pending_work") == 0);
        driver.set("lost_devices", 0);
        ok(JCudaDriver.cuStreamAddCallback(stream, (s, result, data) -> status.set(result), null, 0));
        Waits.until("the callback ran", () -> status.get() != -1);
        assertThat(status).hasValue(CUresult.CUDA_SUCCESS);
        assertThat(bytes(target)).containsOnly(7);
        unpin(target);
        free(memory, stream);
    }

    @Test
    void sharesMemoryAndEventsWithAnotherProcess() throws Exception {
        CUdeviceptr memory = allocate();
        CUstream stream = stream();
        CUevent written = new CUevent();
        ok(JCudaDriver.cuEventCreate(
                written, CUevent_flags.CU_EVENT_DISABLE_TIMING | CUevent_flags.CU_EVENT_INTERPROCESS));
        CUipcMemHandle memoryHandle = new CUipcMemHandle();
        CUipcEventHandle eventHandle = new CUipcEventHandle();
        ok(JCudaDriver.cuIpcGetMemHandle(memoryHandle, memory));
        ok(JCudaDriver.cuIpcGetEventHandle(eventHandle, written));
        assertThat(JCudaDriver.cuIpcOpenMemHandle(new CUdeviceptr(), memoryHandle, 1))
                .isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
        ByteBuffer source = pinned(5);
        driver.set("hold", 1);
        ok(JCudaDriver.cuMemcpyHtoDAsync(memory, Pointer.to(source), BYTES, stream));
        ok(JCudaDriver.cuEventRecord(written, stream));
        try (ImportingProcess other = ImportingProcess.start(directory, memoryHandle, eventHandle)) {
            assertThat(other.line()).isEqualTo("waits");
            ok(JCudaDriver.cuStreamSynchronize(stream));
            assertThat(other.line()).isEqualTo("read 5");
            ok(JCudaDriver.cuMemFree(memory)); // too early: the other process has it open
            expect("freed_while_imported");
            assertThat(other.finish()).isZero();
            assertThat(other.driver().nonZero("live_")).isEmpty();
            assertThat(other.driver().get("violations")).isZero();
        }
        unpin(source);
        ok(JCudaDriver.cuEventDestroy(written));
        ok(JCudaDriver.cuStreamDestroy(stream));
    }

    /** Expects that one violation was counted since the last call of this, of this kind. */
    private void expect(String kind) {
        expected++;
        assertThat(driver.get("violations")).isEqualTo(expected);
        assertThat(driver.get(kind)).isEqualTo(1);
        driver.set(kind, 0);
    }

    static void ok(int result) {
        assertThat(CUresult.stringFor(result)).isEqualTo("CUDA_SUCCESS");
    }

    private static CUdevice device(int ordinal) {
        CUdevice device = new CUdevice();
        ok(JCudaDriver.cuDeviceGet(device, ordinal));
        return device;
    }

    private static CUdeviceptr allocate() {
        CUdeviceptr memory = new CUdeviceptr();
        ok(JCudaDriver.cuMemAlloc(memory, BYTES));
        return memory;
    }

    private static CUstream stream() {
        CUstream stream = new CUstream();
        ok(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return stream;
    }

    private static void free(CUdeviceptr memory, CUstream stream) {
        ok(JCudaDriver.cuStreamDestroy(stream));
        ok(JCudaDriver.cuMemFree(memory));
    }

    private static ByteBuffer filled(int value) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BYTES);
        fill(buffer, value);
        return buffer;
    }

    private static ByteBuffer pinned(int value) {
        ByteBuffer buffer = filled(value);
        ok(JCudaDriver.cuMemHostRegister(Pointer.to(buffer), BYTES, 0));
        return buffer;
    }

    private static void unpin(ByteBuffer buffer) {
        ok(JCudaDriver.cuMemHostUnregister(Pointer.to(buffer)));
    }

    private static void fill(ByteBuffer buffer, int value) {
        byte[] bytes = new byte[BYTES];
        Arrays.fill(bytes, (byte) value);
        buffer.put(0, bytes);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[BYTES];
        buffer.get(0, bytes);
        return bytes;
    }

    /** Returns what is on the device, once all its work is done. */
    private static byte[] on(CUdeviceptr memory) {
        ByteBuffer copy = ByteBuffer.allocateDirect(BYTES);
        ok(JCudaDriver.cuMemcpyDtoH(Pointer.to(copy), memory, BYTES));
        return bytes(copy);
    }
}
