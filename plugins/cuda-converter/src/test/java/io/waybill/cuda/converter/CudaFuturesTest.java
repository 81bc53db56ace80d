package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** PyTorch's tests of futures with tensors on devices: who reads the value of a future, on whatever thread, reads what was computed. */
@Timeout(600)
class CudaFuturesTest {

    private static final Device ZERO = CudaWorkers.ZERO;
    private static final Device ONE = CudaWorkers.ONE;

    @TempDir
    private Path directory;

    /** What a result consists of. */
    enum Form {
        TENSOR,
        LIST,
        VALUES_IN_VALUES,
        SPARSE,
        LIST_OF_SPARSE,
        SPARSE_IN_VALUES;

        private Value of(Tensor tensor) {
            return switch (this) {
                case TENSOR -> Value.of(tensor);
                case LIST -> Value.list(Value.of(tensor), Value.of(1));
                case VALUES_IN_VALUES -> inValues(Value.of(tensor));
                case SPARSE -> Value.of(sparse(tensor));
                case LIST_OF_SPARSE -> Value.list(Value.of(sparse(tensor)));
                case SPARSE_IN_VALUES -> inValues(Value.of(sparse(tensor)));
            };
        }

        private static Value inValues(Value value) {
            return Value.tuple(new Value.Dict(Map.of(Value.of("field"), value)));
        }

        /** A sparse tensor whose indices and values are parts of a tensor. */
        private static SparseTensor sparse(Tensor of) {
            Tensor indices = new Tensor(DType.INT64, new long[] {1, 8}, new long[] {8, 1}, 0, false, of.storage());
            Tensor values = new Tensor(DType.UINT8, new long[] {8}, new long[] {1}, 64, false, of.storage());
            of.storage().retain();
            return new SparseTensor(indices, values, new long[] {Long.MAX_VALUE}, false);
        }
    }

    private static Stream<Tensor> tensors(Value value) {
        if (value instanceof Value.OfTensor tensor) {
            return Stream.of(tensor.value());
        }
        if (value instanceof Value.OfSparse sparse) {
            return Stream.of(sparse.value().values());
        }
        if (value instanceof Value.Dict dict) {
            return dict.entries().values().stream().flatMap(CudaFuturesTest::tensors);
        }
        List<Value> values = value instanceof Value.Items items
                ? items.values()
                : value instanceof Value.Tuple tuple ? tuple.values() : List.of();
        return values.stream().flatMap(CudaFuturesTest::tensors);
    }

    private static int only(Value value) {
        List<Tensor> found = tensors(value).toList();
        assertThat(found).hasSize(1);
        assertThat(found.get(0).device()).isEqualTo(ZERO);
        return CudaGroup.value(found.get(0));
    }

    private static CompletableFuture<Response> async(Worker caller, String to, Invocation call) {
        return caller.rpc().rpcAsync(to, call, CudaGroup.TIMEOUT);
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void readsOnAnotherThreadWhatWasComputed(Form form) throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.function("cuda::formed", (call, outbox) -> {
                Tensor x = CudaGroup.tensor(call, 0);
                outbox.respond(form.of(group.sum(outbox.buffers(), x, x)));
                group.late(true); // the copies of the response: it arrives long before its bytes
            });
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:0=cuda:1");
            Tensor x = group.filled(caller.buffers(), ZERO, 4);
            CompletableFuture<Response> call = async(caller, "server", CudaGroup.call("cuda::formed", Value.of(x)));
            CudaGroup.release(x);
            int read = CompletableFuture.supplyAsync(() -> {
                        try (Response response = call.join()) {
                            group.late(false);
                            return only(response.value());
                        }
                    })
                    .join();
            assertThat(read).isEqualTo(8);
        }
    }

    @Test
    void aCallbackMovesTheValueToAnotherDevice() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:0=cuda:0 cuda:1=cuda:1");
            Tensor x = group.input(caller, ZERO, 4);
            CompletableFuture<Tensor> moved = async(
                            caller, "server", CudaGroup.call("cuda::add", Value.of(x), Value.of(x)))
                    .thenApplyAsync(response -> {
                        Tensor result = CudaGroup.taken(response);
                        Tensor there = group.input(caller, ONE, 0);
                        group.math.copyBetween(there.storage(), result.storage());
                        CudaGroup.release(result);
                        // streams are of threads: who hands a tensor to another one waits for its own work
                        assertThat(CudaGroup.value(there)).isEqualTo(8);
                        return there;
                    });
            Tensor result = moved.join();
            assertThat(result.device()).isEqualTo(ONE);
            try (Response again = async(
                            caller, "server", CudaGroup.call("cuda::add", Value.of(result), Value.of(result)))
                    .join()) {
                Tensor doubled = CudaGroup.tensor(again.value());
                assertThat(doubled.device()).isEqualTo(ONE);
                assertThat(CudaGroup.value(doubled)).isEqualTo(16);
            }
        }
    }

    @Test
    void callbacksRunWhenTheValueIsOnADeviceThatIsNotMapped() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.function(
                    "cuda::onZero",
                    (call, outbox) -> outbox.respond(Value.of(group.filled(outbox.buffers(), ZERO, 1))));
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:1=cuda:1");
            AtomicReference<Throwable> seen = new AtomicReference<>();
            CompletableFuture<Response> call = async(caller, "server", CudaGroup.call("cuda::onZero"))
                    .whenComplete((response, error) -> seen.set(error));
            assertThatThrownBy(call::join)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(CallException.class)
                    .hasMessageContaining("for device cuda:0 but received a tensor on that device");
            assertThat(seen.get())
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNMAPPED));
        }
    }

    /** Completes a response on a thread of its own with the sum of two tensors that it takes over. */
    private static void later(CudaGroup group, TensorBuffers buffers, LateResponse response, Tensor x, Tensor y) {
        CompletableFuture.runAsync(() -> {
                    try {
                        response.send(Value.of(group.sum(buffers, x, y)));
                    } finally {
                        CudaGroup.release(x, y);
                    }
                })
                .exceptionally(e -> {
                    response.fail(ErrorCode.HANDLER_FAILED, e.toString());
                    return null;
                });
    }

    private static Tensor retained(Tensor tensor) {
        tensor.storage().retain();
        return tensor;
    }

    @Test
    void respondsLaterWithWhatAnotherThreadComputes() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.function(
                    "cuda::later",
                    (call, outbox) -> later(
                            group,
                            outbox.buffers(),
                            outbox.later(),
                            retained(CudaGroup.tensor(call, 0)),
                            retained(CudaGroup.tensor(call, 1))));
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:0=cuda:1");
            Tensor zeros = group.input(caller, ZERO, 0);
            Tensor ones = group.input(caller, ZERO, 1);
            try (Response response = async(
                            caller, "server", CudaGroup.call("cuda::later", Value.of(zeros), Value.of(ones)))
                    .join()) {
                assertThat(only(response.value())).isEqualTo(1);
            }
        }
    }

    @Test
    void respondsLaterWithWhatANestedCallBrings() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.function("cuda::nestedLater", (call, outbox) -> {
                LateResponse response = outbox.later();
                TensorBuffers buffers = outbox.buffers();
                Tensor z = retained(CudaGroup.tensor(call, 2));
                Value x = call.positional().get(0);
                Value y = call.positional().get(1);
                outbox.rpc()
                        .rpcAsync("last", CudaGroup.call("cuda::add", x, y), CudaGroup.TIMEOUT)
                        .thenAccept(inner -> later(group, buffers, response, CudaGroup.taken(inner), z));
            });
            group.join("last", "none");
            group.join("server", "last cuda:1=cuda:0");
            Worker caller = group.join("caller", "server cuda:0=cuda:1");
            Tensor ones = group.input(caller, ZERO, 1);
            Value one = Value.of(ones);
            try (Response response = async(caller, "server", CudaGroup.call("cuda::nestedLater", one, one, one))
                    .join()) {
                assertThat(only(response.value())).isEqualTo(3);
            }
        }
    }

    @Test
    void aValueCanBeWrittenInPlace() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:0=cuda:1");
            Tensor x = group.input(caller, ZERO, 4);
            try (Response response = async(caller, "server", CudaGroup.call("cuda::add", Value.of(x), Value.of(x)))
                    .join()) {
                Tensor result = CudaGroup.tensor(response.value());
                group.math.compute(result.storage(), result.storage(), x.storage(), Integer::sum);
                assertThat(CudaGroup.value(result)).isEqualTo(12);
                assertThat(CudaGroup.value(x)).as("the caller's own").isEqualTo(4);
            }
        }
    }
}
