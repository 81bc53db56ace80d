package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Response;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors on devices of two workers, by the real JCuda and the driver of the tests, whose work runs late. */
@Timeout(300)
class CudaTensorsTest {

    @TempDir
    private Path directory;

    @Test
    void takesTensorsToTheMappedDevicesAndBack() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            for (Device from : List.of(CudaWorkers.ZERO, CudaWorkers.ONE)) {
                for (int round = 0; round < 5; round++) {
                    List<Tensor> sent = List.of(
                            workers.tensor(from, CudaWorkers.LARGE, round), workers.tensor(from, 100, round + 50));
                    try (Response response = workers.callAsync(sent).join()) {
                        assertThat((int) response.payload().get(0)).isEqualTo(1 - from.index());
                        assertThat(response.tensors())
                                .hasSize(2)
                                .allMatch(tensor -> tensor.device().equals(from));
                        CudaWorkers.requireMarked(response.tensors().get(0), round);
                        CudaWorkers.requireMarked(response.tensors().get(1), round + 50);
                    }
                }
            }
            workers.requireLeasesReturned();
        }
    }

    @Test
    void usesMemoryAgainOnlyAfterTheWorkOnIt() throws Exception {
        try (CudaWorkers workers = CudaWorkers.join(directory)) {
            for (int round = 0; round < 5; round++) {
                List<Tensor> touched = List.of(workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, round));
                List<Tensor> next = List.of(workers.tensor(CudaWorkers.ZERO, CudaWorkers.LARGE, round + 1));
                workers.callAsync("cuda.touch", touched).join().close();
                try (Response response = workers.callAsync(next).join()) {
                    CudaWorkers.requireMarked(response.tensors().get(0), round + 1);
                }
            }
        }
    }
}
