package io.waybill.cuda.check;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.converter.CudaConverter;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A caller whose tensors are in host memory, and a server on whose first GPU they arrive. {@code gpu.echo} responds with them, so that they come back to host memory;
 * {@code gpu.drop} responds while they may still be copied; {@code gpu.take} waits until they are on the device; {@code gpu.keep} keeps one on the device, and {@code gpu.give} responds with it.
 */
final class GpuWorkers implements AutoCloseable {

    static final Device GPU = Device.parse("cuda:0");
    private static final Duration TIMEOUT = Duration.ofSeconds(120);

    final Worker caller;
    private final Worker server;
    private final CudaConverter ofCaller = new CudaConverter(0, 64);
    private final CudaConverter ofServer = new CudaConverter(0, 2048);
    private final AtomicReference<Tensor> kept = new AtomicReference<>();

    GpuWorkers(Path home) throws IOException {
        this(home, WorkerSettings.defaults());
    }

    GpuWorkers(Path home, WorkerSettings settings) throws IOException {
        server = Waybill.connect(home, "server")
                .settings(settings)
                .with(ofServer)
                .with("gpu.echo", GpuWorkers::echo)
                .with("gpu.drop", (message, outbox) -> outbox.respond(ByteBuffer.allocate(0), List.of()))
                .with("gpu.take", GpuWorkers::take)
                .with("gpu.keep", this::keep)
                .with("gpu.give", this::give)
                .join();
        caller = Waybill.connect(home, "caller")
                .settings(settings)
                .with(ofCaller)
                .deviceMap("server", Map.of(Device.CPU, GPU))
                .join();
    }

    private static void echo(Message message, Outbox outbox) {
        message.tensors().forEach(tensor -> tensor.storage().retain());
        outbox.respond(ByteBuffer.allocate(0), message.tensors());
    }

    private static void take(Message message, Outbox outbox) {
        Storage storage = message.tensors().get(0).storage();
        if (!storage.device().equals(GPU)) {
            throw new IllegalStateException("expected " + GPU + ", found " + storage.device());
        }
        storage.deviceAddress(); // this thread's stream waits for the content
        BareCopies.synchronizeThread();
        outbox.respond(ByteBuffer.allocate(0), List.of());
    }

    private void keep(Message message, Outbox outbox) {
        Tensor tensor = message.tensors().get(0);
        tensor.storage().retain();
        Tensor before = kept.getAndSet(tensor);
        if (before != null) {
            before.storage().release();
        }
        outbox.respond(ByteBuffer.allocate(0), List.of());
    }

    private void give(Message message, Outbox outbox) {
        Tensor tensor = kept.get();
        tensor.storage().retain();
        outbox.respond(ByteBuffer.allocate(0), List.of(tensor));
    }

    /** Makes a tensor in memory from which it is sent without a copy. To be released. */
    Tensor tensor(int bytes, int seed) {
        Storage storage = caller.buffers().allocate(bytes);
        ByteBuffer content = storage.bytes(0, bytes);
        for (int i = 0; i < bytes; i++) {
            content.put(i, content(i, seed));
        }
        return Tensor.contiguous(DType.UINT8, new long[] {bytes}, storage);
    }

    /** Checks the content of a tensor that came back. */
    static void requireContent(Tensor tensor, int bytes, int seed) {
        if (!tensor.device().isCpu() || tensor.storage().sizeBytes() < bytes) {
            throw new AssertionError("expected " + bytes + " bytes in host memory, found " + tensor);
        }
        ByteBuffer content = tensor.storage().bytes(tensor.storageOffset(), bytes);
        for (int i = 0; i < bytes; i++) {
            if (content.get(i) != content(i, seed)) {
                throw new AssertionError(
                        "byte " + i + " of " + bytes + ": expected " + content(i, seed) + ", found " + content.get(i));
            }
        }
    }

    private static byte content(int position, int seed) {
        return (byte) (position * 31 + (position >> 8) + seed);
    }

    /** Copies bytes of the server's memory to the device as the broker does, without a call, and waits for it. */
    void copyToDevice(int bytes) {
        Storage host = server.buffers().allocate(bytes);
        try {
            Storage placed = ofServer.allocateForReceiving(host, GPU, ofServer.streams(GPU));
            placed.deviceAddress();
            BareCopies.synchronizeThread();
            placed.release();
        } catch (RejectedMessageException e) {
            throw new IllegalStateException(e);
        } finally {
            host.release();
        }
    }

    /** Copies the tensor that the server keeps to the host as the broker does, without a call. */
    void copyToHost() {
        try {
            ofServer.prepareForSending(kept.get().storage(), ofServer.streams(GPU), server.buffers())
                    .orElseThrow()
                    .release();
        } catch (RejectedMessageException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Calls the server with tensors, which stay the caller's. */
    CompletableFuture<Response> call(String operation, Tensor... tensors) {
        Request request = Request.operation("server", operation).timeout(TIMEOUT);
        for (int i = 0; i < tensors.length; i++) {
            request.body().tensor("t" + i, tensors[i]);
        }
        return caller.callAsync(request);
    }

    @Override
    public void close() throws IOException {
        Tensor tensor = kept.getAndSet(null);
        if (tensor != null) {
            tensor.storage().release();
        }
        caller.close();
        server.close();
        ofCaller.close();
        ofServer.close();
    }
}
