package io.waybill.bench;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * {@code bench tensor}: the time from the start of a call with one tensor to the start of its handler, per size: with a
 * tensor in ordinary native memory, which is copied into a segment, and with one that was allocated in a segment, which
 * is not. Beside it the time to copy as many bytes between warm native buffers, and the time of an empty call to the
 * same handler.
 *
 * <p>All clocks are CLOCK_MONOTONIC, which the processes share.
 *
 * @param sizesBytes of the tensors
 * @param waiting how the workers wait
 */
public record TensorTransfer(List<Long> sizesBytes, String waiting) {

    static final String ROLE = "tensor-client";
    static final String SERVER_ROLE = "tensor-server";

    private static final int LEASED_WARMUP = 20_000;
    private static final int LEASED_REPEATS = 5_000;

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> rows = new ArrayList<>();
        long empty = 0;
        for (long size : sizesBytes) {
            progress.accept(size + " bytes");
            Figures figures = round(size);
            long oneWay = figures.integer("one_way_ns");
            long memcpy = figures.integer("memcpy_ns");
            long uncopied = figures.integer("loaned_ns");
            empty = figures.integer("empty_ns");
            rows.add(new Figures()
                    .put("size_bytes", size)
                    .put("one_way_ns", oneWay)
                    .put("memcpy_ns", memcpy)
                    .put("ratio", (double) oneWay / memcpy)
                    .put("loaned_ns", uncopied)
                    .put("empty_call_ns", empty)
                    .put("loaned_ratio", (double) uncopied / empty));
        }
        return new Figures().putChoice("waiting", waiting).put("sizes", rows);
    }

    /** One size, with fresh processes. */
    Figures round(long size) throws IOException {
        try (Children children = new Children()) {
            Path home = children.directory().resolve("home");
            children.start(SERVER_ROLE, home, waiting);
            return children.start(ROLE, home, waiting, size).figures();
        }
    }

    /** Arguments: home, waiting. Responds with the time at which the handler began. */
    static void server(String[] arguments) throws IOException {
        EchoServer.serve(arguments, (message, outbox) -> {
            long beganNs = System.nanoTime();
            ByteBuffer response = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
            outbox.respond(response.putLong(0, beganNs));
        });
    }

    /** Arguments: home, waiting, size. */
    static void client(String[] arguments) throws Exception {
        long size = Long.parseLong(arguments[2]);
        Host host = Host.real();
        HostMemory memory = new HostMemory(new NativeMemory(host.calls()));
        Storage source = memory.allocate(size);
        Storage target = memory.allocate(size);
        int repeats = (int) Math.max(15, Math.min(2000, (2L << 30) / size));
        try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
            ChildProcess.ready();
            Storage own = worker.buffers().allocate(size);
            touch(source);
            touch(target);
            touch(own);
            Request copied = request(source);
            Request uncopied = request(own);
            Request empty =
                    Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of());
            long[] memcpyNs = new long[repeats];
            long[] copiedNs = new long[repeats];
            long[] leasedNs = new long[LEASED_REPEATS];
            long[] emptyNs = new long[LEASED_REPEATS];
            for (int i = -LEASED_WARMUP; i < LEASED_REPEATS; i++) { // below 0 it warms up
                int at = Math.max(i, 0);
                leasedNs[at] = oneWayNs(worker, uncopied);
                emptyNs[at] = oneWayNs(worker, empty);
            }
            for (int i = -Math.min(repeats, 200); i < repeats; i++) {
                int at = Math.max(i, 0);
                long startNs = System.nanoTime();
                host.calls().copy(source.address(), target.address(), size);
                memcpyNs[at] = System.nanoTime() - startNs;
                copiedNs[at] = oneWayNs(worker, copied);
            }
            own.release();
            ChildProcess.report(new Figures()
                    .put("one_way_ns", Figures.median(copiedNs))
                    .put("memcpy_ns", Figures.median(memcpyNs))
                    .put("loaned_ns", Figures.median(leasedNs))
                    .put("empty_ns", Figures.median(emptyNs))
                    .put("archived", worker.archiveStatus().archivedStorages())
                    .put("not_archived", worker.archiveStatus().droppedStorages()));
            ChildProcess.awaitEnd();
        }
    }

    private static void touch(Storage storage) {
        for (long offset = 0; offset < storage.sizeBytes(); offset += 4096) {
            storage.bytes(offset, 1).put(0, (byte) 1);
        }
    }

    private static Request request(Storage storage) {
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
        return Request.raw(EchoServer.NAME, MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of(tensor));
    }

    private static long oneWayNs(Worker worker, Request request) {
        long startNs = System.nanoTime();
        try (Response response = worker.call(request)) {
            return response.payload().order(ByteOrder.LITTLE_ENDIAN).getLong(0) - startNs;
        }
    }

    /**
     * The part of {@code bench recording} that measures a program which sends one tensor after the other, and gets each
     * of them back.
     */
    static final class Stream {

        static final String ROLE = "tensor-stream-client";
        static final String SERVER_ROLE = "tensor-stream-server";

        private Stream() {}

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
            Request request = request(storage);
            try (Worker worker = EchoServer.joinCaller(arguments[0], EchoServer.settings(arguments[1]))) {
                ChildProcess.ready();
                long measuredNs = TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[3]));
                call(worker, request, measuredNs / 4);
                long startNs = System.nanoTime();
                long calls = call(worker, request, measuredNs);
                double seconds = (System.nanoTime() - startNs) / 1e9;
                ChildProcess.report(new Figures()
                        .put("stream_per_s", Math.round(calls / seconds))
                        .put("stream_archived", worker.archiveStatus().archivedStorages())
                        .put("stream_not_archived", worker.archiveStatus().droppedStorages()));
                ChildProcess.awaitEnd();
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
}
