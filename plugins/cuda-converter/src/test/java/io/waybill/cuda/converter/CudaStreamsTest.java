package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** PyTorch's tests of handlers with streams of their own: what is on such a stream when the handler responds is in the response. */
@Timeout(600)
class CudaStreamsTest {

    private static final Device ZERO = CudaWorkers.ZERO;
    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    /** A caller, and two workers to which it and they send what is on cuda:0 to cuda:1, and the other way round. */
    private Worker join(CudaGroup group) throws Exception {
        String both = "cuda:0=cuda:1 cuda:1=cuda:0";
        group.function("cuda::nested", (call, outbox) -> {
            Value inner = call.positional().get(1);
            Tensor first = CudaGroup.taken(outbox.rpc()
                    .rpcSync(
                            "last",
                            CudaGroup.call("cuda::add", inner, call.positional().get(2))));
            Tensor sum = group.sum(outbox.buffers(), first, CudaGroup.tensor(call, 3));
            CudaGroup.release(first);
            outbox.respond(Value.of(sum));
        });
        group.join("last", "none");
        group.join("server", "last " + both);
        return group.join("caller", "server " + both);
    }

    private static int result(CompletableFuture<Response> call) {
        try (Response response = call.join()) {
            Tensor result = CudaGroup.tensor(response.value());
            assertThat(result.device()).isEqualTo(ZERO);
            return CudaGroup.value(result);
        }
    }

    @Test
    void respondsWithWhatAStreamOfTheHandlerComputes() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            Worker caller = join(group);
            Tensor x = group.input(caller, ZERO, 3);
            assertThat(result(caller.rpc()
                            .rpcAsync(
                                    "server",
                                    CudaGroup.call("cuda::add", Value.of(x), Value.of(x)),
                                    CudaGroup.TIMEOUT)))
                    .isEqualTo(6);
        }
    }

    @Test
    void keepsTwentyHandlersWithStreamsApart() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            Worker caller = join(group);
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < CALLS; i++) {
                Tensor x = group.filled(caller.buffers(), ZERO, i);
                calls.add(caller.rpc()
                        .rpcAsync("server", CudaGroup.call("cuda::add", Value.of(x), Value.of(x)), CudaGroup.TIMEOUT));
                CudaGroup.release(x);
            }
            for (int i = 0; i < CALLS; i++) {
                assertThat(result(calls.get(i))).isEqualTo(2 * i);
            }
        }
    }

    @Test
    void ordersStreamsOverTwoHops() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            Worker caller = join(group);
            Tensor x = group.input(caller, ZERO, 1);
            Tensor y = group.input(caller, ZERO, 2);
            Tensor z = group.input(caller, ZERO, 3);
            assertThat(result(nested(caller, x, y, z))).isEqualTo(6);
        }
    }

    private static CompletableFuture<Response> nested(Worker caller, Tensor x, Tensor y, Tensor z) {
        return caller.rpc()
                .rpcAsync(
                        "server",
                        CudaGroup.call("cuda::nested", Value.of("last"), Value.of(x), Value.of(y), Value.of(z)),
                        CudaGroup.TIMEOUT);
    }

    @Test
    void ordersStreamsOfFiveNestedCallsInFlight() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            Worker caller = join(group);
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                Tensor x = group.filled(caller.buffers(), ZERO, i);
                Tensor y = group.filled(caller.buffers(), ZERO, 10 * i);
                Tensor z = group.filled(caller.buffers(), ZERO, 2);
                calls.add(nested(caller, x, y, z));
                CudaGroup.release(x, y, z);
            }
            for (int i = 0; i < 5; i++) {
                assertThat(result(calls.get(i))).isEqualTo(11 * i + 2);
            }
        }
    }

    @Test
    void cutsAViewOutOnlyWhenItsStreamHasMadeIt() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            int rows = 10;
            int columns = CudaGroup.SIZE / rows;
            group.function("cuda::view", (call, outbox) -> {
                Tensor made = group.computed(
                        outbox.buffers(), CudaGroup.tensor(call, 0), CudaGroup.tensor(call, 0), Integer::sum);
                outbox.respond(Value.of(new Tensor(
                        DType.UINT8, new long[] {columns / 4}, new long[] {1}, columns, false, made.storage())));
            });
            Worker caller = join(group);
            for (int i = 0; i < rows; i++) {
                Tensor x = group.input(caller, ZERO, i);
                try (Response response =
                        caller.rpc().rpcSync("server", CudaGroup.call("cuda::view", Value.of(x)), CudaGroup.TIMEOUT)) {
                    Tensor view = CudaGroup.tensor(response.value());
                    assertThat(view.elementCount()).isEqualTo(columns / 4);
                    assertThat(view.storage().sizeBytes())
                            .as("its elements alone")
                            .isEqualTo(columns / 4);
                    assertThat(CudaGroup.value(view)).isEqualTo(2 * i);
                }
            }
        }
    }
}
