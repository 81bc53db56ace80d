package io.waybill.cuda.standin;

import io.waybill.cuda.CudaNatives;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUipcEventHandle;
import jcuda.driver.CUipcMemHandle;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A process that opens device memory and an event of another one, says what it reads once the event is complete, and closes both when its input ends. */
final class ImportingProcess implements AutoCloseable {

    private static final int LIMIT_S = 120;
    private static final int LOOKS = 100;
    private static final long LOOK_NS = 1_000_000;

    private final StandIn driver;
    private final Process process;
    private final BufferedReader lines;

    private ImportingProcess(StandIn driver, Process process) {
        this.driver = driver;
        this.process = process;
        this.lines = process.inputReader(StandardCharsets.UTF_8);
    }

    static ImportingProcess start(Path directory, CUipcMemHandle memory, CUipcEventHandle event) throws IOException {
        StandIn driver = StandIn.in(directory.resolve("importing"));
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-D" + CudaNatives.DRIVER_PROPERTY + "=" + driver.library(),
                        "-D" + CudaNatives.DIRECTORY_PROPERTY + "=" + directory.resolve("natives"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        ImportingProcess.class.getName(),
                        text(memory),
                        text(event))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new ImportingProcess(driver, process);
    }

    StandIn driver() {
        return driver;
    }

    String line() throws IOException {
        return lines.readLine();
    }

    /** Ends its input. Returns its exit code. */
    int finish() throws IOException, InterruptedException {
        process.getOutputStream().close();
        return process.waitFor(LIMIT_S, TimeUnit.SECONDS) ? process.exitValue() : -1;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    private static String text(Object handle) {
        return Base64.getEncoder().encodeToString(content(handle));
    }

    /** Returns a handle with the content that a text has. */
    private static <T> T parsed(String text, T handle) {
        byte[] content = Base64.getDecoder().decode(text);
        System.arraycopy(content, 0, content(handle), 0, content.length);
        return handle;
    }

    /** The handle's bytes. JCuda's classes hide them, but they are what the processes of a host send each other. */
    private static byte[] content(Object handle) {
        try {
            Field bytes = handle.getClass().getDeclaredField("reserved");
            bytes.setAccessible(true);
            return (byte[]) bytes.get(handle);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("another version of JCuda", e);
        }
    }

    public static void main(String[] args) throws IOException {
        CudaNatives.load();
        CUdevice device = new CUdevice();
        CUcontext context = new CUcontext();
        StandInTest.ok(JCudaDriver.cuInit(0));
        StandInTest.ok(JCudaDriver.cuDeviceGet(device, 0));
        StandInTest.ok(JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
        StandInTest.ok(JCudaDriver.cuCtxSetCurrent(context));
        CUdeviceptr memory = new CUdeviceptr();
        CUevent written = new CUevent();
        CUstream stream = new CUstream();
        StandInTest.ok(JCudaDriver.cuIpcOpenMemHandle(memory, parsed(args[0], new CUipcMemHandle()), 1));
        StandInTest.ok(JCudaDriver.cuIpcOpenEventHandle(written, parsed(args[1], new CUipcEventHandle())));
        StandInTest.ok(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        ByteBuffer copy = ByteBuffer.allocateDirect(1);
        StandInTest.ok(JCudaDriver.cuMemHostRegister(Pointer.to(copy), 1, 0));
        StandInTest.ok(JCudaDriver.cuStreamWaitEvent(stream, written, 0));
        StandInTest.ok(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(copy), memory, 1, stream));
        System.out.println(isNeverDone(stream) ? "waits" : "does not wait");
        StandInTest.ok(JCudaDriver.cuEventSynchronize(written));
        StandInTest.ok(JCudaDriver.cuStreamSynchronize(stream));
        System.out.println("read " + copy.get(0));
        StandInTest.ok(JCudaDriver.cuMemHostUnregister(Pointer.to(copy)));
        System.in.read();
        StandInTest.ok(JCudaDriver.cuStreamDestroy(stream));
        StandInTest.ok(JCudaDriver.cuEventDestroy(written));
        StandInTest.ok(JCudaDriver.cuIpcCloseMemHandle(memory));
        StandInTest.ok(JCudaDriver.cuDevicePrimaryCtxRelease(device));
    }

    /** Looks at a stream for longer than its work takes that waits for nothing. */
    private static boolean isNeverDone(CUstream stream) {
        for (int i = 0; i < LOOKS; i++) {
            if (JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_ERROR_NOT_READY) {
                return false;
            }
            LockSupport.parkNanos(LOOK_NS);
        }
        return true;
    }
}
