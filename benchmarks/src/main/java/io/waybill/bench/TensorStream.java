package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.bench.measure.Figures;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The part of {@code bench recording} that measures a program which sends one tensor after the other, and gets each of them back. */
final class TensorStream {

    static final String ROLE = "tensor-stream-client";
    static final String SERVER_ROLE = "tensor-stream-server";

    private TensorStream() {}

    /** One measurement, with fresh processes. */
    static Figures round(long size, int seconds, String how) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            children.start(SERVER_ROLE, home, how);
            return children.start(ROLE, home, how, size, seconds).figures();
        }
    }

    /** Arguments: home, waiting. Responds with the tensors. */
    static void server(String[] arguments) throws IOException {
        EchoServer.serve(arguments, (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors(), List.of());
        });
    }

    /** Arguments: home, waiting, size, seconds. */
    static void client(String[] arguments) throws Exception {
        long size = Long.parseLong(arguments[2]);
        Host host = Host.real();
        Storage storage = new HostMemory(new NativeMemory(host.calls())).allocate(size);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {size}, storage);
        Request request =
                Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of(tensor));
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            BenchProcess.ready();
            long measuredNs = TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[3]));
            call(worker, request, measuredNs / 4);
            long startNs = System.nanoTime();
            long calls = call(worker, request, measuredNs);
            double seconds = (System.nanoTime() - startNs) / 1e9;
            BenchProcess.report(new Figures()
                    .put("stream_per_s", Math.round(calls / seconds))
                    .put("stream_archived", worker.archiveStatus().archivedStorages())
                    .put("stream_not_archived", worker.archiveStatus().droppedStorages()));
            BenchProcess.awaitEnd();
        }
    }

    private static long call(Worker worker, Request request, long ns) {
        long calls = 0;
        for (long endNs = System.nanoTime() + ns; System.nanoTime() - endNs < 0; calls++) {
            worker.call(request).close();
        }
        return calls;
    }
}
