package io.waybill.cuda.check;

import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors to a GPU and back, through the broker: in a build on the driver of the tests, by {@code tools/gpu-check} on a real one. */
@Tag("gpu")
@Timeout(300)
class GpuTest {

    private static final int LARGE = 4 << 20;
    private static final int CALLS = 40;

    @TempDir
    private Path directory;

    private Driver driver;
    private GpuWorkers workers;

    @BeforeEach
    void join() throws Exception {
        driver = Driver.use();
        workers = new GpuWorkers(directory.resolve("home"));
    }

    @AfterEach
    void leave() throws Exception {
        workers.close();
        driver.requireNothingLeft();
    }

    @Test
    void bringsTensorsOfEachSizeBackAsTheyWere() throws Exception {
        for (int size : new int[] {1, 100, 65_537, 1 << 20, LARGE + 3}) {
            Tensor sent = workers.tensor(size, size);
            try (Response response = workers.call("gpu.echo", sent).join()) {
                GpuWorkers.requireContent(response.tensors().get(0), size, size);
            } finally {
                sent.storage().release();
            }
        }
    }

    @Test
    void keepsCallsInFlightApart() throws Exception {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            int size = 1 + (i * 104_729) % (1 << 20);
            Tensor sent = workers.tensor(size, i);
            sizes.add(size);
            calls.add(workers.call("gpu.echo", sent));
            sent.storage().release();
        }
        for (int i = 0; i < CALLS; i++) {
            try (Response response = calls.get(i).join()) {
                GpuWorkers.requireContent(response.tensors().get(0), sizes.get(i), i);
            }
        }
    }

    @Test
    void givesWhatItKeptOnTheDevice() throws Exception {
        Tensor sent = workers.tensor(LARGE, 9);
        workers.call("gpu.keep", sent).join().close();
        sent.storage().release();
        for (int i = 0; i < 3; i++) {
            try (Response response = workers.call("gpu.give").join()) {
                GpuWorkers.requireContent(response.tensors().get(0), LARGE, 9);
            }
        }
    }

    @Test
    void usesMemoryAgainAfterTheCopiesToIt() throws Exception {
        driver.mixStreams();
        for (int i = 0; i < CALLS; i++) {
            Tensor dropped = workers.tensor(LARGE / 4, i);
            Tensor sent = workers.tensor(LARGE / 4, -i - 1);
            workers.call("gpu.drop", dropped).join().close();
            try (Response response = workers.call("gpu.echo", sent).join()) {
                GpuWorkers.requireContent(response.tensors().get(0), LARGE / 4, -i - 1);
            } finally {
                dropped.storage().release();
                sent.storage().release();
            }
        }
    }
}
