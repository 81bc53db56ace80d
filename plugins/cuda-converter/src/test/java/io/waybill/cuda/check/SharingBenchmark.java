package io.waybill.cuda.check;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.converter.CudaConverter;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Times calls with tensors that another process uses in this one's device memory, by turns with calls without tensors. For one thread. */
final class SharingBenchmark {

    /**
     * Medians of one size.
     *
     * @param callNs of a call without tensors
     * @param sharedNs of one with a tensor that the other process uses where it is
     * @param openNs of one before the other process has opened anything
     */
    record Result(long bytes, int rounds, long callNs, long sharedNs, long openNs) {}

    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    private static final int CALLS_PER_ROUND = 40; // with which the path of a call is compiled

    private SharingBenchmark() {}

    static List<Result> run(Path directory, int[] megabytes, int rounds, String driver) throws IOException {
        List<Result> results = new ArrayList<>();
        Path home = directory.resolve("sharing");
        CudaConverter converter = new CudaConverter(0, 64);
        try (SharingPeer peer = SharingPeer.start(home, Files.createDirectories(directory.resolve("peer")), driver);
                Worker caller = Waybill.connect(home, "caller")
                        .with(converter)
                        .deviceMap("server", Map.of(GpuWorkers.GPU, GpuWorkers.GPU))
                        .shareDevices("server")
                        .join()) {
            for (int each : megabytes) {
                Tensor tensor = tensor(converter, caller, Math.multiplyExact(each, 1 << 20));
                results.add(measure(caller, tensor, rounds));
                tensor.storage().release();
            }
            requireEnd(peer);
        } catch (RejectedMessageException e) {
            throw new IllegalStateException(e);
        } finally {
            converter.close();
        }
        return results;
    }

    private static void requireEnd(SharingPeer peer) throws IOException {
        try {
            if (peer.finish() != 0) {
                throw new IllegalStateException("the other process has failed");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Tensor tensor(CudaConverter converter, Worker caller, int bytes) throws RejectedMessageException {
        Storage host = caller.buffers().allocate(bytes);
        try {
            Storage placed = converter.allocateForReceiving(host, GpuWorkers.GPU, converter.streams(GpuWorkers.GPU));
            return Tensor.contiguous(DType.UINT8, new long[] {bytes}, placed);
        } finally {
            host.release();
        }
    }

    private static Result measure(Worker caller, Tensor tensor, int rounds) {
        Request shared = Request.operation("server", "peer.use").timeout(TIMEOUT);
        shared.body().tensor("tensor", tensor);
        Request without = Request.operation("server", "peer.use").timeout(TIMEOUT);
        long openNs = time(caller, shared);
        for (int i = 0; i < rounds * CALLS_PER_ROUND; i++) {
            time(caller, without);
            time(caller, shared);
        }
        long[] callNs = new long[rounds];
        long[] sharedNs = new long[rounds];
        for (int i = 0; i < rounds; i++) {
            callNs[i] = time(caller, without);
            sharedNs[i] = time(caller, shared);
        }
        Arrays.sort(callNs);
        Arrays.sort(sharedNs);
        return new Result(tensor.storage().sizeBytes(), rounds, callNs[rounds / 2], sharedNs[rounds / 2], openNs);
    }

    private static long time(Worker caller, Request request) {
        long startNs = System.nanoTime();
        caller.call(request).close();
        return System.nanoTime() - startNs;
    }
}
