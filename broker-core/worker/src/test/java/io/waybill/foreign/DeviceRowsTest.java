package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappingListener;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Device converters that misbehave, at the caller and at the callee, for the request and for the response. */
@Timeout(300)
class DeviceRowsTest {

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
        node.workers.handle(node.handlers, CALL, ForeignNode::echo);
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> converters() {
        return Stream.concat(Row.of(DeviceConverter.class), Row.of(DeviceStream.class));
    }

    @ParameterizedTest
    @MethodSource("converters")
    void costsItsOwnCallOnly(Row row) throws Exception {
        runs(row, node.server, node.caller, false);
        runs(row, node.caller, node.server, !row.method().equals("allocateForReceiving"));
    }

    static Stream<Row> sharing() {
        return Row.of(MemorySharing.class);
    }

    @ParameterizedTest
    @MethodSource("sharing")
    void costsItsOwnCallOnlyWhenItShares(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        DeviceConverter sound = new Sharing(ToyDevice.sound(), ToyDevice.sound().culprit());
        runs(row, culprit, new Sharing(ToyDevice.sound(), culprit), sound, node.server, node.caller, false);
        culprit = new Culprit(row);
        DeviceConverter bad = new Sharing(ToyDevice.sound(), culprit);
        runs(row, culprit, bad, sound, node.caller, node.server, row.method().equals("share"));
    }

    static Stream<Row> storages() {
        return StorageRowsTest.storages();
    }

    /** The lease retains and releases it, too. */
    @ParameterizedTest
    @MethodSource("storages")
    void aSharedStorageCostsItsOwnCallOnly(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        Tensor tensor = new ToyDevice(culprit).tensor();
        DeviceConverter sharing =
                new Sharing(ToyDevice.sound(), ToyDevice.sound().culprit());
        node.caller.devices().register("toy", sharing);
        node.server.devices().register("toy", sharing);
        try {
            boolean hangsOnItsOwn = !row.method().equals("release");
            node.run(row, culprit, CALL, tensor, new ForeignNode.Outcomes(), hangsOnItsOwn);
        } finally {
            node.caller.devices().remove("toy", sharing);
            node.server.devices().remove("toy", sharing);
        }
    }

    /** A program's own thread that hangs in its own converter hangs. */
    private void runs(Row row, Worker bad, Worker good, boolean hangsOnItsOwn) throws Exception {
        Culprit culprit = new Culprit(row);
        runs(row, culprit, new ToyDevice(culprit), ToyDevice.sound(), bad, good, hangsOnItsOwn);
    }

    private void runs(
            Row row,
            Culprit culprit,
            DeviceConverter toy,
            DeviceConverter sound,
            Worker bad,
            Worker good,
            boolean hangsOnItsOwn)
            throws Exception {
        AtomicInteger failures = new AtomicInteger();
        bad.devices().register("toy", toy, (text, error) -> failures.incrementAndGet());
        good.devices().register("toy", sound);
        try {
            node.run(row, culprit, CALL, ToyDevice.soundTensor(), new ForeignNode.Outcomes(), hangsOnItsOwn);
        } finally {
            bad.devices().remove("toy", toy);
            good.devices().remove("toy", sound);
        }
        switch (row.how()) {
            case EXCEPTION, ERROR, UNREADABLE, NULL ->
                assertThat(failures.get())
                        .as("%s: failures, at %s", row, bad.info().name())
                        .isPositive();
            default -> assertThat(failures.get()).as("%s: failures", row).isNotNegative();
        }
    }

    static Stream<Row> listeners() {
        return Row.of(MappingListener.class);
    }

    /** No call waits for a listener of segments; the end of its converter does, up to a limit. */
    @ParameterizedTest
    @MethodSource("listeners")
    void aListenerOfSegmentsCostsNoCall(Row row) {
        Culprit culprit = new Culprit(row);
        AtomicInteger failures = new AtomicInteger();
        Pinning pinning = new Pinning(new ToyDevice(culprit), culprit);
        node.othersAreServed(row); // segments are mapped at both
        for (Worker worker : List.of(node.server, node.caller)) {
            int before = culprit.happened();
            worker.devices().register("toy", pinning, (text, error) -> failures.incrementAndGet());
            Thread leaving = new Thread(() -> worker.devices().remove("toy", pinning), "leaving");
            if (row.method().equals("unmapping")) {
                leaving.start();
            }
            Waits.until(row + ": it misbehaves", () -> culprit.happened() > before);
            node.othersAreServed(row);
            if (row.method().equals("mapped")) {
                leaving.start();
            }
            Waits.until(row + ": the converter leaves", () -> !leaving.isAlive());
            assertThat(failures.getAndSet(0)).as("%s: failures", row).isPositive();
        }
        culprit.letGo();
        node.othersAreServed(row);
        node.everythingIsBack(row);
    }

    /** A converter that adds something to a toy's. */
    private interface OnToy extends DeviceConverter {
        ToyDevice toy();

        @Override
        default Optional<String> unavailable() {
            return toy().unavailable();
        }

        @Override
        default Optional<Storage> prepareForSending(
                Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            return toy().prepareForSending(storage, streams, buffers);
        }

        @Override
        default Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            return toy().allocateForReceiving(arrived, target, streams);
        }
    }

    /** A converter that shares memory: what is opened is new memory. */
    private record Sharing(ToyDevice toy, Culprit culprit) implements OnToy, MemorySharing {
        @Override
        public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) {
            return culprit.in("share", Optional.of(ByteBuffer.allocate(1)), storage);
        }

        @Override
        public Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams) {
            Storage opened = toy.tensor().storage();
            return ToyDevice.given(opened, () -> culprit.in("open", opened, shared));
        }
    }

    /** A converter that listens to segments. */
    private record Pinning(ToyDevice toy, Culprit culprit) implements OnToy, MappingListener {
        @Override
        public void mapped(MappedSegment segment) {
            culprit.in("mapped", this, segment);
        }

        @Override
        public void unmapping(MappedSegment segment) {
            culprit.in("unmapping", this, segment);
        }
    }
}
