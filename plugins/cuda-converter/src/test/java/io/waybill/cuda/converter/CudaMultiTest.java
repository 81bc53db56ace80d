package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** PyTorch's tests of messages whose tensors are on several devices, and of devices that no map has, on four devices. */
@Timeout(600)
class CudaMultiTest {

    private static final int DEVICES = 4;
    private static final int ROUNDS = 40; // more than a worker has threads

    @TempDir
    private Path directory;

    private static Device cuda(int index) {
        return new Device("cuda", index);
    }

    private static void requireValue(Value result, Device on, int value) {
        Tensor tensor = CudaGroup.tensor(result);
        assertThat(tensor.device()).isEqualTo(on);
        assertThat(CudaGroup.value(tensor)).isEqualTo(value);
    }

    @Test
    void respondsFromAnotherDeviceThanThatOfTheArguments() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, DEVICES)) {
            group.function("cuda::onZero", (call, outbox) -> {
                Tensor x = CudaGroup.tensor(call, 0);
                Tensor y = CudaGroup.tensor(call, 1);
                assertThat(List.of(x.device(), y.device())).containsOnly(cuda(1));
                Tensor result = group.filled(outbox.buffers(), cuda(0), 0);
                Tensor sum = group.sum(outbox.buffers(), x, y);
                group.math.copyBetween(result.storage(), sum.storage());
                CudaGroup.release(sum);
                outbox.respond(Value.of(result));
            });
            group.join("server", "none");
            Worker caller = group.join("caller", "server cuda:0=cuda:1 cuda:1=cuda:0");
            Tensor x = group.input(caller, cuda(0), 0);
            Tensor y = group.input(caller, cuda(0), 1);
            try (Response response = caller.rpc()
                    .rpcSync("server", CudaGroup.call("cuda::onZero", Value.of(x), Value.of(y)), CudaGroup.TIMEOUT)) {
                requireValue(response.value(), cuda(1), 1);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"server", "caller"})
    void takesTwoArgumentsAndTwoResultsOnTwoDevices(String to) throws Exception {
        try (CudaGroup group = new CudaGroup(directory, DEVICES)) {
            group.function("cuda::both", (call, outbox) -> {
                Tensor x = CudaGroup.tensor(call, 0);
                Tensor y = CudaGroup.tensor(call, 1);
                assertThat(x.device()).isEqualTo(cuda(1));
                assertThat(y.device()).isEqualTo(cuda(0));
                TensorBuffers buffers = outbox.buffers();
                Tensor xOnZero = group.filled(buffers, cuda(0), 0);
                Tensor yOnOne = group.filled(buffers, cuda(1), 0);
                group.math.copyBetween(xOnZero.storage(), x.storage());
                group.math.copyBetween(yOnOne.storage(), y.storage());
                Value sum = Value.of(group.sum(buffers, xOnZero, y));
                Value difference = Value.of(group.computed(buffers, x, yOnOne, (a, b) -> a - b));
                CudaGroup.release(xOnZero, yOnOne);
                outbox.respond(Value.tuple(sum, difference));
            });
            if (to.equals("server")) {
                group.join("server", "none");
            }
            Worker caller = group.join("caller", to + " cuda:0=cuda:1 cuda:1=cuda:0");
            Tensor x = group.input(caller, cuda(0), 0);
            Tensor y = group.input(caller, cuda(1), 1);
            try (Response response = caller.rpc()
                    .rpcSync(to, CudaGroup.call("cuda::both", Value.of(x), Value.of(y)), CudaGroup.TIMEOUT)) {
                List<Value> results = ((Value.Tuple) response.value()).values();
                requireValue(results.get(0), cuda(1), 1);
                requireValue(results.get(1), cuda(0), -1);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"server", "caller"})
    void returnsResultsOfHostMemoryToFourDevices(String to) throws Exception {
        try (CudaGroup group = new CudaGroup(directory, DEVICES)) {
            group.function("cuda::spread", (call, outbox) -> {
                int x = CudaGroup.value(CudaGroup.tensor(call, 0));
                int y = CudaGroup.value(CudaGroup.tensor(call, 1));
                int[] results = {x + y, x - y, x * y, x / y};
                List<Value> spread = new ArrayList<>();
                for (int i = 0; i < DEVICES; i++) {
                    Tensor zeros = group.filled(outbox.buffers(), cuda(i), 0);
                    Tensor values = group.filled(outbox.buffers(), cuda(i), results[i]);
                    spread.add(Value.of(group.sum(outbox.buffers(), zeros, values)));
                    CudaGroup.release(zeros, values);
                }
                outbox.respond(new Value.Tuple(spread));
            });
            if (to.equals("server")) {
                group.join("server", "none");
            }
            Worker caller = group.join("caller", to + " cuda:0=cuda:1 cuda:1=cuda:2 cuda:2=cuda:3 cuda:3=cuda:0");
            Tensor x = group.input(caller, Device.CPU, 6);
            Tensor y = group.input(caller, Device.CPU, 2);
            try (Response response = caller.rpc()
                    .rpcSync(to, CudaGroup.call("cuda::spread", Value.of(x), Value.of(y)), CudaGroup.TIMEOUT)) {
                List<Value> results = ((Value.Tuple) response.value()).values();
                int[] expected = {8, 4, 12, 3};
                for (int i = 0; i < DEVICES; i++) {
                    requireValue(results.get(i), cuda((3 + i) % DEVICES), expected[i]);
                }
            }
        }
    }

    private static void fails(ThrowingCallable call, String text) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNMAPPED))
                .hasMessageContaining(text);
    }

    @Test
    void refusesUnmappedDevicesMoreOftenThanThereAreThreads() throws Exception {
        try (CudaGroup group = new CudaGroup(directory, DEVICES)) {
            group.function(
                    "cuda::make",
                    (call, outbox) -> outbox.respond(Value.of(group.filled(outbox.buffers(), cuda(1), 1))));
            group.join("server", "none");
            Worker caller = group.join("caller", "none");
            Tensor sent = group.input(caller, cuda(0), 1);
            Tensor host = group.input(caller, Device.CPU, 4);
            for (int i = 0; i < ROUNDS; i++) {
                fails(
                        () -> caller.rpc()
                                .rpcSync("server", CudaGroup.call("cuda::add", Value.of(sent), Value.of(sent)))
                                .close(),
                        "Request device mapping is not available for destination server");
                fails(
                        () -> caller.rpc()
                                .rpcSync("server", CudaGroup.call("cuda::make"))
                                .close(),
                        "Response device mapping is not available for destination caller");
                fails(() -> remote(caller, Value.of(sent)), "Request device mapping is not available");
            }
            group.function("cuda::echo", (call, outbox) -> {
                CudaGroup.tensor(call, 0).storage().retain();
                outbox.respond(call.positional().get(0));
            });
            try (Response response =
                    caller.rpc().rpcSync("server", CudaGroup.call("cuda::echo", Value.of(host)), CudaGroup.TIMEOUT)) {
                requireValue(response.value(), Device.CPU, 4);
            }
        }
    }

    private static void remote(Worker caller, Value argument) {
        try (RRef reference = caller.rpc().remote("server", CudaGroup.call("cuda::add", argument, argument))) {
            reference.toHere(CudaGroup.TIMEOUT).close();
        }
    }
}
