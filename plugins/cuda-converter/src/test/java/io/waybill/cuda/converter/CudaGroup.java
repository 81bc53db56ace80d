package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.cuda.standin.StandIn;
import io.waybill.device.DeviceSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntBinaryOperator;

/**
 * Workers of one home that call functions by name on each other's devices, each with a converter of its own. All work on devices is held back until something
 * waits for it, so a wait that is missing leaves wrong bytes in every run.
 */
final class CudaGroup implements AutoCloseable {

    static final int SIZE = 40_000;
    static final Duration TIMEOUT = Duration.ofSeconds(120);
    private static final long LATE_US = 500_000;

    /** What an operation does, in the thread of its handler. */
    interface Function {
        void run(Invocation call, Outbox outbox) throws RejectedMessageException;
    }

    final StandIn driver;
    final DeviceMath math = new DeviceMath();
    private final Path home;
    private final List<Worker> workers = new ArrayList<>();
    private final List<CudaConverter> converters = new ArrayList<>();
    private final Map<String, Function> functions = new ConcurrentHashMap<>();
    private final CudaConverter ofTensors; // by which functions and tests make tensors
    private final Queue<Tensor> inputs = new ConcurrentLinkedQueue<>(); // of the test's own threads

    CudaGroup(Path directory, int devices) throws IOException {
        driver = CudaWorkers.driver();
        driver.set("devices", devices);
        driver.set("hold", 1);
        home = directory.resolve("home");
        ofTensors = converter();
        functions.put(
                "cuda::add",
                (call, outbox) -> outbox.respond(Value.of(sum(outbox.buffers(), tensor(call, 0), tensor(call, 1)))));
    }

    private CudaConverter converter() {
        CudaConverter made = new CudaConverter(0, 64);
        assertThat(made.unavailable()).isEmpty();
        converters.add(made);
        return made;
    }

    /** Adds a function that all workers have. */
    CudaGroup function(String name, Function function) {
        functions.put(name, function);
        return this;
    }

    /** Joins a worker with device maps as settings have them, which declares these devices, if there are any. */
    Worker join(String name, String maps, Device... devices) throws IOException {
        Waybill waybill = Waybill.connect(home, name)
                .with(converter())
                .with("SCRIPT_CALL", this::run)
                .devices(devices);
        for (Map.Entry<String, Map<Device, Device>> each :
                DeviceSettings.parseMaps(maps).entrySet()) {
            waybill.deviceMap(each.getKey(), each.getValue());
        }
        Worker joined = waybill.join();
        workers.add(joined);
        return joined;
    }

    private void run(Message message, Outbox outbox) throws RejectedMessageException {
        Invocation call = message.invocation();
        functions.get(call.name()).run(call, outbox);
    }

    /** Lets work on devices that is put on streams from now on be late, and what follows be on time again: it runs before. */
    void late(boolean isLate) {
        driver.set(isLate ? "delay_max_us" : "delay_min_us", isLate ? LATE_US : 0);
        driver.set(isLate ? "delay_min_us" : "delay_max_us", isLate ? LATE_US : 1);
    }

    static Invocation call(String function, Value... arguments) {
        return new Invocation(function, List.of(arguments), Map.of());
    }

    static Tensor tensor(Invocation call, int argument) {
        return tensor(call.positional().get(argument));
    }

    static Tensor tensor(Value value) {
        return ((Value.OfTensor) value).value();
    }

    /** The tensor of a response, to be released; closes the response. */
    static Tensor taken(Response response) {
        try (response) {
            Tensor tensor = tensor(response.value());
            tensor.storage().retain();
            return tensor;
        }
    }

    /** Makes a tensor on a device whose bytes all have a value. To be released. */
    Tensor filled(TensorBuffers buffers, Device device, int value) {
        Storage host = buffers.allocate(SIZE);
        ByteBuffer bytes = host.bytes(0, SIZE);
        for (int i = 0; i < SIZE; i++) {
            bytes.put(i, (byte) value);
        }
        return Tensor.contiguous(DType.UINT8, new long[] {SIZE}, placed(host, device));
    }

    /** Makes such a tensor that is released when this is closed. */
    Tensor input(Worker of, Device device, int value) {
        Tensor made = filled(of.buffers(), device, value);
        inputs.add(made);
        return made;
    }

    /** Puts a storage on a device, and releases it. */
    private Storage placed(Storage host, Device device) {
        if (device.isCpu()) {
            return host;
        }
        try {
            return ofTensors.allocateForReceiving(host, device, ofTensors.streams(device));
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        } finally {
            host.release();
        }
    }

    /** Adds two tensors on one device, later. To be released. */
    Tensor sum(TensorBuffers buffers, Tensor x, Tensor y) {
        return computed(buffers, x, y, Integer::sum);
    }

    /** Combines two tensors on one device, later. To be released. */
    Tensor computed(TensorBuffers buffers, Tensor x, Tensor y, IntBinaryOperator operation) {
        Tensor result = filled(buffers, x.device(), 0);
        math.compute(result.storage(), x.storage(), y.storage(), operation);
        return result;
    }

    /** Returns the value that all bytes of a tensor have, on its device, once the work on it is done. */
    static int value(Tensor tensor) {
        ByteBuffer bytes = tensor.device().isCpu()
                ? tensor.storage().bytes(0, (int) tensor.storage().sizeBytes())
                : DeviceCode.read(tensor.storage());
        int start = (int) tensor.storageOffset();
        for (int i = start + 1; i < start + tensor.elementCount(); i++) {
            if (bytes.get(i) != bytes.get(start)) {
                throw new AssertionError("the bytes on " + tensor.device() + " are not all " + bytes.get(start)
                        + ": byte " + i + " is " + bytes.get(i));
            }
        }
        return bytes.get(start);
    }

    static void release(Tensor... tensors) {
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
    }

    /** Ends the workers and the converters, and checks that nothing is left. */
    @Override
    public void close() throws IOException {
        release(inputs.toArray(Tensor[]::new));
        for (Worker worker : workers) {
            worker.close();
        }
        math.close();
        converters.forEach(CudaConverter::close);
        Waits.until(
                () -> "nothing left on devices: " + driver.nonZero("live_"),
                () -> driver.nonZero("live_").isEmpty());
        assertThat(driver.nonZero("violations")).isEmpty();
    }
}
