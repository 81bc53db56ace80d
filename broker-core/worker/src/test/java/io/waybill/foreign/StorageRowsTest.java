package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CALL_NOW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Storages on a device that misbehave, at the caller and at the callee; and converters for other kinds of handlers. */
@Timeout(300)
class StorageRowsTest {

    private static final String LATER = "row.later";

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
        node.workers.handle(node.handlers, CALL, ForeignNode::echo);
        node.workers.handleOnPoller(node.handlers, CALL_NOW, ForeignNode::echo);
        node.workers.handle(node.handlers, LATER, (message, outbox) -> {
            LateResponse late = outbox.later();
            message.tensors().forEach(tensor -> tensor.storage().retain());
            List<Tensor> tensors = List.copyOf(message.tensors());
            new Thread(() -> late.send(ByteBuffer.allocate(1), tensors)).start();
        });
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    /** A call reads neither an address nor the bytes of a storage on a device, and asks neither for a file nor whether it is live. */
    static Stream<Row> storages() {
        return Row.of(Storage.class)
                .filter(row -> !List.of("address", "readAddress", "deviceAddress", "filePart", "bytes", "isLive")
                        .contains(row.method()));
    }

    @ParameterizedTest
    @MethodSource("storages")
    void aStorageCostsItsOwnCallOnly(Row row) throws Exception {
        runs(row, CALL, node.server, ToyDevice.soundTensor(), new ForeignNode.Outcomes(), false);
        Culprit atCaller = new Culprit(row);
        boolean inTheProgram = List.of("device", "sizeBytes").contains(row.method());
        ForeignNode.Outcomes outcomes = row.method().equals("retain") ? new KeptOutcomes() : new ForeignNode.Outcomes();
        runs(row, CALL, node.caller, new ToyDevice(atCaller), atCaller, outcomes, inTheProgram);
    }

    /** A program that keeps the response: the broker retains its storages. */
    private static final class KeptOutcomes extends ForeignNode.Outcomes {
        @Override
        void call(Worker caller, Request request) {
            caller.callAsync(request).whenComplete((response, failure) -> {
                if (response != null) {
                    catchThrowable(response::close);
                }
                count.incrementAndGet();
            });
        }
    }

    static Stream<Row> converters() {
        return Row.of(DeviceConverter.class)
                .filter(row ->
                        List.of("prepareForSending", "allocateForReceiving").contains(row.method()));
    }

    @ParameterizedTest
    @MethodSource("converters")
    void aConverterCostsTheCallOfANonBlockingHandlerOnly(Row row) throws Exception {
        runs(row, CALL_NOW, node.server, ToyDevice.soundTensor(), new ForeignNode.Outcomes(), false);
    }

    @ParameterizedTest
    @MethodSource("converters")
    void aConverterCostsItsOwnDeferredResponseOnly(Row row) throws Exception {
        runs(row, LATER, node.server, ToyDevice.soundTensor(), new ForeignNode.Outcomes(), false);
    }

    private static void runs(
            Row row, String operation, Worker bad, Tensor tensor, ForeignNode.Outcomes outcomes, boolean hangsOnItsOwn)
            throws Exception {
        Culprit culprit = new Culprit(row);
        with(bad, new ToyDevice(culprit), () -> node.run(row, culprit, operation, tensor, outcomes, hangsOnItsOwn));
    }

    private static void runs(
            Row row,
            String operation,
            Worker bad,
            ToyDevice device,
            Culprit culprit,
            ForeignNode.Outcomes outcomes,
            boolean hangsOnItsOwn)
            throws Exception {
        Tensor tensor = device.tensor();
        with(bad, device, () -> node.run(row, culprit, operation, tensor, outcomes, hangsOnItsOwn));
    }

    private interface Step {
        void run() throws Exception;
    }

    /** Runs with a device at one worker, and one that behaves at the other. */
    private static void with(Worker bad, ToyDevice device, Step step) throws Exception {
        Worker good = bad == node.server ? node.caller : node.server;
        ToyDevice sound = ToyDevice.sound();
        bad.devices().register("toy", device);
        good.devices().register("toy", sound);
        try {
            step.run();
        } finally {
            bad.devices().remove("toy", device);
            good.devices().remove("toy", sound);
        }
    }

    @Test
    void convertsForANonBlockingHandlerOnNoPoller() throws Exception {
        ToyDevice device = ToyDevice.sound();
        with(node.server, device, () -> {
            for (int i = 0; i < 20; i++) {
                Tensor tensor = ToyDevice.soundTensor();
                Request request = Request.operation("server", CALL_NOW);
                request.body().tensor("t", tensor);
                assertThat(node.caller.callAsync(request))
                        .succeedsWithin(Duration.ofSeconds(20))
                        .satisfies(Response::close);
                tensor.storage().release();
            }
        });
        assertThat(device.receiving())
                .as("the threads that the callee's converter received tensors on")
                .hasSizeGreaterThanOrEqualTo(20)
                .noneMatch(thread -> thread.contains("-poller-"));
        node.everythingIsBack("a converter for a non-blocking handler");
    }

    /** Storage of a program, whose value of a reference is kept as it is. */
    private static final class Live implements Storage {
        private final Supplier<Boolean> isLive;
        private final AtomicInteger count = new AtomicInteger(1);

        Live(Supplier<Boolean> isLive) {
            this.isLive = isLive;
        }

        Tensor tensor() {
            return Tensor.contiguous(DType.UINT8, new long[] {8}, this);
        }

        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return 8;
        }

        @Override
        public long address() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isLive() {
            return isLive.get();
        }

        @Override
        public Storage retain() {
            count.incrementAndGet();
            return this;
        }

        @Override
        public void release() {
            count.decrementAndGet();
        }
    }

    static Stream<RuntimeException> noBooleans() {
        return Stream.of(new IllegalStateException("planted"), null);
    }

    @ParameterizedTest
    @MethodSource("noBooleans")
    void aStorageThatDoesNotSayWhetherItIsLiveLeavesTheOthersOfItsValue(RuntimeException thrown) {
        Live before = new Live(() -> true);
        Live bad = new Live(() -> {
            if (thrown == null) {
                throw new AssertionError("planted");
            }
            throw thrown;
        });
        Value value = new Value.Items(List.of(Value.of(before.tensor()), Value.of(bad.tensor())));

        assertThat(catchThrowable(() -> node.caller.rpc().rref(value))).hasMessageContaining("planted");
        assertThat(before.count).as("counts of the storage before").hasValue(1);
        node.everythingIsBack("a value that was not kept");
    }

    /** The broker's own storage, kept by a handler and not retained. */
    @Test
    void aStorageOfARequestIsGoneAfterItsHandler() {
        CompletableFuture<Storage> kept = new CompletableFuture<>();
        HandlerRegistry.Registration registration =
                node.workers.handle(node.handlers, "row.keeps", (message, outbox) -> {
                    Storage storage = message.tensors().get(0).storage();
                    outbox.respond(ByteBuffer.allocate(1));
                    kept.complete(storage);
                });
        node.callWithTensor("row.keeps").join().close();
        Storage storage = kept.join();
        Waits.until("the broker gave it back", () -> catchThrowable(() -> storage.bytes(0, 1)) != null);
        for (Throwable thrown : List.of(
                catchThrowable(() -> storage.bytes(0, 1)),
                catchThrowable(storage::address),
                catchThrowable(storage::retain),
                catchThrowable(storage::release),
                catchThrowable(storage::release))) {
            assertThat(thrown).isInstanceOf(IllegalStateException.class).hasMessageContaining("released");
        }
        assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning()).isZero();
        node.othersAreServed("a storage that is used after its end");
        node.everythingIsBack("a storage that is used after its end");
    }
}
