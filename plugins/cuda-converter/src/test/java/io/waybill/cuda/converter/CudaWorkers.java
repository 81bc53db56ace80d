package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.standin.StandIn;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A caller and a server in one home, each with a converter, and the driver of the tests. Tensors of the caller on cuda:0 arrive on cuda:1 of the server, and
 * the other way round. {@code cuda.mark} sets the first byte of each tensor on its device, and responds with them.
 */
final class CudaWorkers implements AutoCloseable {

    static final Device ZERO = Device.parse("cuda:0");
    static final Device ONE = Device.parse("cuda:1");
    static final int LARGE = 300_000;
    static final int MARK = 77;
    private static final int TOUCHED = 5; // the byte that cuda.touch sets, on a device, when it has long responded
    private static final long LATE_US = 500_000;

    final StandIn driver;
    final Worker caller;
    final Worker server;
    final List<CudaConverter> converters = new ArrayList<>();
    private final Worker program; // in whose memory the tensors begin that are sent,
    final CudaConverter ofProgram; // and whose converter is not replaced

    private CudaWorkers(Path home, StandIn driver) throws IOException {
        this.driver = driver;
        server = Waybill.connect(home, "server")
                .with(converter())
                .with("cuda.mark", CudaWorkers::mark)
                .with("cuda.touch", (message, outbox) -> {
                    late(() -> DeviceCode.set(message.tensors().get(0).storage(), TOUCHED, MARK));
                    outbox.respond(ByteBuffer.allocate(1));
                })
                .join();
        caller = Waybill.connect(home, "caller")
                .with(converter())
                .deviceMap("server", Map.of(ZERO, ONE, ONE, ZERO))
                .join();
        ofProgram = converter();
        program = Waybill.connect(home, "program").with(ofProgram).join();
    }

    /** The driver of this JVM, as it is at first. */
    static StandIn driver() throws IOException {
        StandIn driver = StandIn.ofThisJvm();
        driver.reset();
        driver.set("devices", 2);
        CudaNatives.configure(
                System.getProperty(CudaNatives.DIRECTORY_PROPERTY),
                driver.library().toString());
        return driver;
    }

    static CudaWorkers join(Path directory) throws IOException {
        return new CudaWorkers(directory.resolve("home"), driver());
    }

    /** Makes a converter that is closed with this. */
    CudaConverter converter() {
        CudaConverter made = new CudaConverter(0, 64);
        assertThat(made.unavailable()).isEmpty();
        converters.add(made);
        return made;
    }

    /** Puts work on streams that runs long after what is put on others next. */
    private void late(Runnable work) {
        long min = driver.get("delay_min_us");
        long max = driver.get("delay_max_us");
        driver.set("delay_max_us", LATE_US);
        driver.set("delay_min_us", LATE_US);
        try {
            work.run();
        } finally {
            driver.set("delay_min_us", min);
            driver.set("delay_max_us", max);
        }
    }

    private static void mark(Message message, Outbox outbox) throws RejectedMessageException {
        try {
            message.tensors().stream()
                    .filter(tensor -> !tensor.device().isCpu())
                    .forEach(tensor -> DeviceCode.set(tensor.storage(), 0, MARK));
        } catch (CallException e) {
            throw new RejectedMessageException(e.code(), "the tensor did not arrive: " + e.getMessage(), e);
        } catch (DeviceCode.DeviceCodeException e) {
            throw new RejectedMessageException(ErrorCode.DEVICE_LOST, "this handler's work failed: " + e.getMessage());
        }
        message.tensors().forEach(tensor -> tensor.storage().retain());
        outbox.respond(
                ByteBuffer.wrap(
                        new byte[] {(byte) message.tensors().get(0).device().index()}),
                message.tensors());
    }

    /** A tensor on a device, with a content that depends on the position. To be released. */
    Tensor tensor(Device device, int size, int seed) throws RejectedMessageException {
        Storage host = program.buffers().allocate(size);
        try {
            ByteBuffer bytes = host.bytes(0, size);
            for (int i = 0; i < size; i++) {
                bytes.put(i, content(i, seed));
            }
            Storage placed = device.isCpu()
                    ? host.retain()
                    : ofProgram.allocateForReceiving(host, device, ofProgram.streams(device));
            return Tensor.contiguous(DType.UINT8, new long[] {size}, placed);
        } finally {
            host.release();
        }
    }

    private static byte content(int position, int seed) {
        return (byte) (position * 31 + seed);
    }

    /** Sends tensors, which are released. */
    CompletableFuture<Response> callAsync(List<Tensor> tensors) {
        return callAsync("cuda.mark", tensors);
    }

    /** Sends tensors, which are released. */
    CompletableFuture<Response> callAsync(String operation, List<Tensor> tensors) {
        return callAsync(operation, tensors, Duration.ofSeconds(120));
    }

    /** Sends tensors, which are released. */
    CompletableFuture<Response> callAsync(String operation, List<Tensor> tensors, Duration timeout) {
        Request request = Request.operation("server", operation).timeout(timeout);
        for (int i = 0; i < tensors.size(); i++) {
            request.body().tensor("t" + i, tensors.get(i));
        }
        try {
            return caller.callAsync(request);
        } finally {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }

    /** Checks the bytes of a tensor on a device, of which the first was marked. */
    static void requireMarked(Tensor tensor, int seed) {
        requireContent(tensor.storage(), MARK, seed);
    }

    /** Checks the bytes of a storage on a device. */
    static void requireContent(Storage storage, int seed) {
        requireContent(storage, content(0, seed), seed);
    }

    private static void requireContent(Storage storage, int first, int seed) {
        ByteBuffer bytes = DeviceCode.read(storage);
        for (int i = 0; i < bytes.capacity(); i++) {
            byte expected = i == 0 ? (byte) first : content(i, seed);
            if (bytes.get(i) != expected) {
                throw new AssertionError("byte " + i + " of " + bytes.capacity() + " on " + storage.device()
                        + ": expected " + expected + ", found " + bytes.get(i));
            }
        }
    }

    /** What is open on devices, of all converters. */
    CudaFigures figures() {
        return converters.stream().map(CudaConverter::figures).reduce(CudaFigures.NONE, CudaFigures::plus);
    }

    /** Waits until both workers have published that they use no memory of the other one after the calls until now. */
    void requireLeasesReturned() throws IOException {
        for (Worker worker : List.of(caller, server)) {
            Waits.until(
                    "leases of " + worker.info().name() + " are returned",
                    () -> worker.metrics().read().stream()
                            .filter(each -> each.worker().equals(worker.info()))
                            .map(WorkerMetrics::values)
                            .anyMatch(values -> values.getOrDefault("calls.sent", 0L)
                                            == worker.counters().callsSent()
                                    && values.getOrDefault("requests.begun", 0L)
                                            == worker.counters().requestsBegun()
                                    && values.get("tensors.leases-held") == 0));
        }
    }

    /** Ends the workers and the converters, and checks that nothing is left. */
    @Override
    public void close() throws IOException {
        caller.close();
        server.close();
        program.close();
        converters.forEach(CudaConverter::close);
        Waits.until("nothing is left on devices", () -> figures().equals(CudaFigures.NONE));
        assertThat(driver.nonZero("live_")).isEmpty();
        assertThat(driver.get("violations")).as("what no program may do").isZero();
    }
}
