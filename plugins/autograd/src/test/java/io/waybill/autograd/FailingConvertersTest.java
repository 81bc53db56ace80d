package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Device converters that fail while tensors of a context travel. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class FailingConvertersTest {

    private static final int WORKERS = 3;
    private static final int BYTES = 16;
    private static final Device HOST = Device.parse("cpu");
    private static final Device TOY = Device.parse("toy:0");

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[WORKERS];
    private final Toy[] toys = new Toy[WORKERS];
    private final AtomicInteger live = new AtomicInteger();

    /** What fails. */
    private enum Part {
        NOTHING,
        SENDING,
        RECEIVING
    }

    @ConvertsDevice("toy")
    private final class Toy implements DeviceConverter {

        private volatile Part failing = Part.NOTHING;

        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            failIf(Part.SENDING);
            byte[] content = ((DeviceMemory) storage).content();
            Storage copy = buffers.allocate(content.length);
            copy.bytes(0, content.length).put(content);
            return Optional.of(copy);
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            failIf(Part.RECEIVING);
            DeviceMemory memory = new DeviceMemory(target, (int) arrived.sizeBytes(), live);
            arrived.bytes(0, memory.content().length).get(memory.content());
            return memory;
        }

        private void failIf(Part part) {
            if (failing == part) {
                throw new IllegalStateException("the toy is broken");
            }
        }
    }

    /** Responds with a tensor that was computed, and with the other one. */
    @HandlesMessage("test.beside")
    private static final class Beside implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            io.waybill.api.tensor.Tensor toy = tensor(message.value("toy"));
            toy.storage().retain();
            outbox.response()
                    .value(
                            "tensor",
                            TestWorkers.ENGINE.run(TestWorkers.invocation("aten::neg", message.value("tensor"))))
                    .value("toy", Value.of(toy));
        }
    }

    private TestWorkers join(int mapping, String peer, Device from) throws Exception {
        return TestWorkers.bare(directory.resolve("home"), WORKERS, (worker, id) -> {
            toys[id] = new Toy();
            return (id == mapping ? worker.deviceMap(peer, Map.of(from, TOY)) : worker)
                    .with(toys[id])
                    .with(new Beside())
                    .withBroker(broker -> all[id] = new Autograd(broker, TestWorkers.NATIVES))
                    .withBroker(broker -> new ForwardRequests(all[id]))
                    .withBroker(broker -> new PassRequests(all[id]))
                    .withBroker(broker -> new BackwardRequests(all[id]));
        });
    }

    private Value called(TestWorkers workers, Value leaf) {
        DeviceMemory toy = new DeviceMemory(TOY, BYTES, live);
        Request request = Request.operation("worker1", "test.beside");
        request.body().value("tensor", leaf).value("toy", Value.of(toy.tensor()));
        try (Response response = workers.worker(0).call(request)) {
            tensor(response.value("tensor")).storage().retain();
            return workers.keep(response.value("tensor"));
        } finally {
            toy.release();
        }
    }

    private void backward(TestWorkers workers, long context, Value computed, Value leaf, BackwardMode mode) {
        all[0].backward(context, List.of(tensor(workers.local("aten::sum", computed))), false, mode);
        try (ContextGradients gradients = all[0].gradients(context)) {
            assertThat(elements(gradients.of(tensor(leaf)).orElseThrow())).containsExactly(-1, -1);
        }
    }

    private void awaitNothing(TestWorkers workers) {
        for (Autograd each : all) {
            Waits.until(
                    () -> "contexts are released: " + each.contexts(),
                    () -> each.contexts().isEmpty() && each.passes() == 0);
        }
        workers.release();
        Waits.until(
                () -> TestWorkers.NATIVES.liveCount() + " handles, " + TestWorkers.NATIVES.storageCount()
                        + " storages, " + live + " toys",
                () -> TestWorkers.NATIVES.liveCount() == 0
                        && TestWorkers.NATIVES.storageCount() == 0
                        && live.get() == 0);
    }

    @ParameterizedTest
    @CsvSource({
        "0, SENDING, SMART",
        "1, RECEIVING, SMART",
        "1, SENDING, SMART",
        "0, RECEIVING, SMART",
        "0, SENDING, FAST",
        "1, RECEIVING, FAST"
    })
    void aCallFailsAloneAndItsContextGoesOn(int worker, Part failing, BackwardMode mode) throws Exception {
        try (TestWorkers workers = join(0, "worker1", TOY)) {
            Value leaf = workers.leaf(new long[] {2}, 1, 2);
            all[0].context(context -> {
                toys[worker].failing = failing;
                CallException failure = catchThrowableOfType(CallException.class, () -> called(workers, leaf));
                assertThat(failure).hasMessageContaining("toy");
                assertThat(failure.code()).isEqualTo(ErrorCode.DEVICE_LOST);
                toys[worker].failing = Part.NOTHING;
                backward(workers, context, called(workers, leaf), leaf, mode);
            });
            awaitNothing(workers);
        }
    }

    /** The first of two gradients of worker 1 arrives on a device: the converter fails, or libtorch can't take it from there. */
    @ParameterizedTest
    @CsvSource({"RECEIVING, SMART", "RECEIVING, FAST", "NOTHING, SMART", "NOTHING, FAST"})
    void aPassFailsInAllWorkers(Part failing, BackwardMode mode) throws Exception {
        try (TestWorkers workers = join(1, "worker0", HOST)) {
            Value leaf = workers.leaf(new long[] {2}, 1, 2);
            toys[0].failing = failing;
            all[0].context(context -> {
                Value computed = workers.local(
                        "aten::add", workers.call(0, 1, "aten::neg", leaf), workers.call(0, 1, "aten::neg", leaf));
                CallException failure = catchThrowableOfType(
                        CallException.class, () -> backward(workers, context, computed, leaf, mode));
                assertThat(failure).hasMessageStartingWith("Error on Node 1: ").hasMessageContaining("toy");
                assertThat(failure.code()).isNotEqualTo(ErrorCode.HANDLER_FAILED);
            });
            all[0].context(context -> backward(workers, context, workers.call(0, 2, "aten::neg", leaf), leaf, mode));
            awaitNothing(workers);
        }
    }
}
