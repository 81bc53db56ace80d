package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Converters that are replaced while tensors are in flight. */
@Timeout(900)
class CudaUpdatesTest {

    private static final int UPDATES = 50;
    private static final int IN_FLIGHT = 4;

    @TempDir
    private Path directory;

    @Test
    void losesNothingWhileConvertersAreReplaced() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            AtomicBoolean ends = new AtomicBoolean();
            AtomicInteger rounds = new AtomicInteger();
            List<Tensor> kept = List.of(workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, 7));
            CompletableFuture<Void> load = CompletableFuture.runAsync(() -> {
                while (!ends.get()) {
                    round(workers);
                    rounds.incrementAndGet();
                }
            });
            CudaConverter ofServer = workers.converters.get(0);
            CudaConverter ofCaller = workers.converters.get(1);
            for (int update = 0; update < UPDATES; update++) {
                int before = rounds.get();
                if (update % 2 == 0) {
                    ofServer = replaced(workers, workers.server, ofServer);
                } else {
                    ofCaller = replaced(workers, workers.caller, ofCaller);
                }
                Waits.until("calls go on", () -> rounds.get() > before || load.isDone());
            }
            ends.set(true);
            load.join();
            try (Response response = workers.callAsync(kept).join()) { // of the first version, sent by the last one
                CudaWorkers.requireMarked(response.tensors().get(0), 7);
            }
            workers.requireLeasesReturned();
        }
    }

    /** As a node replaces the bundle. */
    private static CudaConverter replaced(CudaWorkers workers, Worker worker, CudaConverter old) {
        worker.devices().replacing("cuda");
        try {
            assertThat(worker.devices().remove("cuda", old, Duration.ofSeconds(120)))
                    .isZero();
            old.close();
            CudaConverter next = workers.converter();
            worker.devices().register("cuda", next);
            return next;
        } finally {
            worker.devices().replaced("cuda");
        }
    }

    private static void round(CudaWorkers workers) {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < IN_FLIGHT; i++) {
            calls.add(
                    workers.callAsync(List.of(onDevice(workers, CudaWorkers.LARGE, i), onDevice(workers, 64, i + 20))));
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            try (Response response = calls.get(i).join()) {
                CudaWorkers.requireMarked(response.tensors().get(0), i);
                CudaWorkers.requireMarked(response.tensors().get(1), i + 20);
            }
        }
    }

    private static Tensor onDevice(CudaWorkers workers, int size, int seed) {
        try {
            return workers.tensor(CudaWorkers.ZERO, size, seed);
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }
}
