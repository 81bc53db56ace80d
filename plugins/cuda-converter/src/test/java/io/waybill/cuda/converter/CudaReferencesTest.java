package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.worker.Worker;
import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * PyTorch's tests of references to what a stream still computes: a model on a device is called by reference, and its result fetched. Fetched, passed on or relayed,
 * it is the result of a plain call.
 */
@Timeout(600)
class CudaReferencesTest {

    private static final int WEIGHT = 5;
    private static final int ROUNDS = 10;
    private static final int ROUNDS_ALONE = 30;

    @TempDir
    private Path directory;

    private static void addFunctions(CudaGroup group) {
        group.function("cuda::model", (call, outbox) -> {
            Device on = ((Value.OfDevice) call.positional().get(0)).value();
            Tensor half = group.filled(outbox.buffers(), on, WEIGHT / 2);
            Tensor rest = group.filled(outbox.buffers(), on, WEIGHT - WEIGHT / 2);
            Tensor weight = group.sum(outbox.buffers(), half, rest); // runs when the handler has long responded
            CudaGroup.release(half, rest);
            outbox.respond(Value.of(weight));
        });
        group.function("cuda::forward", (call, outbox) -> outbox.respond(forward(group, call, outbox)));
        group.function(
                "cuda::relay",
                (call, outbox) -> outbox.respond(Value.of(
                        CudaGroup.taken(reference(call.positional().get(0)).toHere(CudaGroup.TIMEOUT)))));
    }

    /** Adds the weight of a model, which this worker has, to an input: a tensor, or a reference to one. */
    private static Value forward(CudaGroup group, Invocation call, Outbox outbox) {
        Value input = call.positional().get(1);
        Tensor weight = CudaGroup.taken(reference(call.positional().get(0)).localValue());
        if (input instanceof Value.OfTensor tensor) {
            Tensor result = group.sum(outbox.buffers(), weight, tensor.value());
            CudaGroup.release(weight);
            return Value.of(result);
        }
        Tensor fetched = CudaGroup.taken(reference(input).toHere(CudaGroup.TIMEOUT));
        Tensor result = group.sum(outbox.buffers(), weight, fetched);
        CudaGroup.release(weight, fetched);
        return Value.of(result);
    }

    private static RRef reference(Value value) {
        return ((Value.OfRRef) value).value();
    }

    private static RRef model(Worker caller, String at, Device on) {
        return caller.rpc().remote(at, CudaGroup.call("cuda::model", Value.of(on)), CudaGroup.TIMEOUT);
    }

    private static void requireValue(Response response, Device on, int value) {
        try (response) {
            Tensor tensor = CudaGroup.tensor(response.value());
            assertThat(tensor.device()).isEqualTo(on);
            assertThat(CudaGroup.value(tensor)).isEqualTo(value);
        }
    }

    /** Calls a model twice with an input: once so that the result stays and is fetched, and once plainly. */
    private static void requireForward(Worker caller, String at, RRef model, Value input, Device on, int value) {
        Invocation forward = CudaGroup.call("cuda::forward", Value.of(model), input);
        try (RRef result = caller.rpc().remote(at, forward, CudaGroup.TIMEOUT)) {
            requireValue(result.toHere(CudaGroup.TIMEOUT), on, value);
        }
        requireValue(caller.rpc().rpcSync(at, forward, CudaGroup.TIMEOUT), on, value);
    }

    @ParameterizedTest
    @CsvSource({"cuda:0, cuda:0", "cuda:1, cuda:0", "cuda:1, cuda:1", "cuda:0, cuda:1"})
    void fetchesAResultOnceItIsComputed(String local, String remote) throws Exception {
        Device here = Device.parse(local);
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            addFunctions(group);
            group.join("server", "none");
            Worker caller = group.join("caller", "server " + local + "=" + remote);
            try (RRef model = model(caller, "server", Device.parse(remote))) {
                for (int i = 0; i < ROUNDS; i++) {
                    Tensor x = group.input(caller, here, i);
                    requireForward(caller, "server", model, Value.of(x), here, WEIGHT + i);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "cuda:0, cuda:0, ",
        "cuda:1, cuda:0, ",
        "cuda:1, cuda:1, ",
        "cuda:0, cuda:1, ",
        "cuda:0, cuda:0, cuda:0" // which all workers declare to be their only one
    })
    void takesInputByReferenceOnceItIsComputed(String local, String remote, String declared) throws Exception {
        Device here = Device.parse(local);
        Device[] devices = declared == null ? new Device[0] : new Device[] {Device.parse(declared)};
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            addFunctions(group);
            group.join("server", "caller " + remote + "=" + local, devices);
            Worker caller = group.join("caller", "server " + local + "=" + remote, devices);
            try (RRef model = model(caller, "server", Device.parse(remote))) {
                for (int i = 0; i < ROUNDS; i++) {
                    try (RRef x = input(group, caller, here, i)) {
                        requireForward(caller, "server", model, Value.of(x), here, WEIGHT + i);
                    }
                }
            }
        }
    }

    /** A reference of one's own to a value that is still computed. */
    private static RRef input(CudaGroup group, Worker caller, Device on, int value) {
        Tensor zeros = group.input(caller, on, 0);
        Tensor values = group.input(caller, on, value);
        Tensor sum = group.sum(caller.buffers(), zeros, values);
        try {
            return caller.rpc().rref(Value.of(sum));
        } finally {
            CudaGroup.release(sum);
        }
    }

    @ParameterizedTest
    @CsvSource({"cuda:0, cuda:0", "cuda:0, cuda:1", "cuda:1, cuda:0", "cuda:1, cuda:1"})
    void relaysAResultThroughAThirdWorker(String local, String remote) throws Exception {
        Device here = Device.parse(local);
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            addFunctions(group);
            group.join("model", "caller " + remote + "=" + local);
            group.join("relay", "model " + local + "=" + remote);
            Worker caller = group.join("caller", "model " + local + "=" + remote + "; relay " + local + "=" + local);
            try (RRef model = model(caller, "model", Device.parse(remote))) {
                for (int i = 0; i < ROUNDS; i++) {
                    try (RRef x = input(group, caller, here, i);
                            RRef result = caller.rpc()
                                    .remote(
                                            "model",
                                            CudaGroup.call("cuda::forward", Value.of(model), Value.of(x)),
                                            CudaGroup.TIMEOUT);
                            RRef relayed = caller.rpc()
                                    .remote(
                                            "relay",
                                            CudaGroup.call("cuda::relay", Value.of(result)),
                                            CudaGroup.TIMEOUT)) {
                        requireValue(relayed.toHere(CudaGroup.TIMEOUT), here, WEIGHT + i);
                        requireForward(caller, "model", model, Value.of(x), here, WEIGHT + i);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"cuda:0, cuda:0", "cuda:0, cuda:1", "cuda:1, cuda:0", "cuda:1, cuda:1"})
    void anOwnerAloneSeesItsResultOnceItIsComputed(String local, String remote) throws Exception {
        Device here = Device.parse(local);
        try (CudaGroup group = new CudaGroup(directory, 2)) {
            addFunctions(group);
            Worker alone = group.join("alone", "alone " + local + "=" + remote);
            try (RRef model = model(alone, "alone", Device.parse(remote))) {
                for (int i = 0; i < ROUNDS_ALONE; i++) {
                    Tensor x = group.input(alone, here, i);
                    Tensor result = CudaGroup.taken(alone.rpc()
                            .rpcSync(
                                    "alone",
                                    CudaGroup.call("cuda::forward", Value.of(model), Value.of(x)),
                                    CudaGroup.TIMEOUT));
                    try (RRef kept = alone.rpc().rref(Value.of(result))) {
                        assertThat(result.device()).isEqualTo(here);
                        requireValue(kept.toHere(CudaGroup.TIMEOUT), here, WEIGHT + i);
                        assertThat(CudaGroup.value(result)).isEqualTo(WEIGHT + i);
                    } finally {
                        CudaGroup.release(result);
                    }
                }
            }
        }
    }
}
