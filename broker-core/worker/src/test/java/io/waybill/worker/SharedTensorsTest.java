package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors that the receiver uses in the device memory where the sender has them. */
@Timeout(300)
class SharedTensorsTest {

    private static final Device TOY = Device.parse("toy:0");
    private static final int LARGE = 100_000;
    private static final String BOTH = "server toy:0=toy:0; caller toy:0=toy:0";

    @TempDir
    private Path directory;

    private final SharingToy toy = new SharingToy();
    private final ConcurrentLinkedQueue<Tensor> kept = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private ArchiveSettings archive = ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.NONE);
    private Duration drainLimit = Duration.ofMillis(100);

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Worker join(String name, String maps, String... sharing) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "share.keep", (message, outbox) -> {
            Tensor tensor = message.tensors().get(0);
            tensor.storage().retain();
            kept.add(tensor);
            outbox.respond(ByteBuffer.wrap(new byte[] {(byte) MappedToy.content(tensor)}));
        });
        workers.handle(
                handlers,
                "share.make",
                (message, outbox) -> outbox.respond(ByteBuffer.allocate(1), List.of(toy.tensor(TOY, LARGE, 9))));
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .devices(new DeviceSettings(List.of(), DeviceSettings.parseMaps(maps), List.of(sharing)))
                .archive(archive)
                .drainLimit(drainLimit)
                .build();
        Worker worker = workers.join(name, handlers, settings);
        worker.devices().register("toy", toy);
        return worker;
    }

    private Worker pair(String... sharing) throws IOException {
        join("server", BOTH, sharing);
        return join("caller", BOTH, sharing);
    }

    private static Request keep(Tensor tensor) {
        Request request = Request.operation("server", "share.keep").timeout(Duration.ofSeconds(60));
        request.body().tensor("tensor", tensor);
        return request;
    }

    private void releaseKept() {
        kept.remove().storage().release();
    }

    private void requireNothingLeft() {
        Waits.until("memory on devices is released", () -> toy.live.get() == 0);
    }

    @Test
    void usesWhatIsSharedWithoutACopy() throws IOException {
        Worker caller = pair("server", "caller");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        try (Response response = caller.call(keep(sent))) {
            assertThat(response.payload().get(0)).isEqualTo((byte) 3);
        }
        try (Response made =
                caller.call(Request.operation("server", "share.make").timeout(Duration.ofSeconds(60)))) {
            assertThat(MappedToy.content(made.tensors().get(0))).isEqualTo(9);
        }
        assertThat(toy.opened.get()).as("a request and a response").isEqualTo(2);
        assertThat(toy.sent.get()).as("copies").isZero();
        sent.storage().release();
        releaseKept();
        requireNothingLeft();
    }

    @Test
    void sharesWithThoseAloneThatTheSenderNames() throws IOException {
        join("server", BOTH);
        Worker caller = join("caller", BOTH, "another");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        assertThat(toy.sent.get()).as("copies").isEqualTo(1);
        sent.storage().release();
        releaseKept();
        requireNothingLeft();
    }

    @Test
    void copiesWhatGoesToHostMemoryWhatIsSmallAndWhatTheConverterDoesNotShare() throws IOException {
        join("server", BOTH);
        Worker caller = join("caller", "server toy:0=toy:0 toy:1=cpu", "server");
        Tensor small = toy.tensor(TOY, 100, 3);
        caller.call(keep(small)).close();
        toy.shares = false;
        Tensor large = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(large)).close();
        toy.shares = true;
        Tensor toHost = toy.tensor(Device.parse("toy:1"), LARGE, 3);
        assertThatThrownBy(() -> caller.call(keep(toHost))).hasMessageContaining("ClassCast"); // it is in host memory
        assertThat(toy.sent.get()).as("copies").isEqualTo(3);
        assertThat(toy.opened.get()).isZero();
        List.of(small, large, toHost).forEach(tensor -> tensor.storage().release());
        kept.forEach(tensor -> tensor.storage().release());
        requireNothingLeft();
    }

    @Test
    void sharesOneStorageOfSeveralViewsOnce() throws IOException {
        Worker caller = pair("server", "caller");
        Tensor whole = toy.tensor(TOY, LARGE, 3);
        Tensor part = new Tensor(whole.dtype(), new long[] {10}, new long[] {1}, 5, false, whole.storage());
        Request request = keep(whole);
        request.body().tensor("part", part);
        caller.call(request).close();
        assertThat(toy.opened.get()).isEqualTo(1);
        whole.storage().release();
        releaseKept();
        requireNothingLeft();
    }

    @Test
    void holdsMemoryUntilTheReceiverHasReleasedIt() throws IOException {
        Worker caller = pair("server", "caller");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        sent.storage().release();
        assertThat(toy.live.get()).as("of the sender, and of the receiver").isEqualTo(2);
        assertThat(caller.leased()).isEqualTo(1);
        assertThat(MappedToy.content(kept.element())).isEqualTo(3);
        releaseKept();
        requireNothingLeft(); // without another call
        assertThat(caller.leased()).isZero();
    }

    @Test
    void takesMemoryBackFromAReceiverThatHasLeft() throws IOException {
        Worker server = join("server", BOTH);
        Worker caller = join("caller", BOTH, "server");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        sent.storage().release();
        server.close();
        Waits.until("the sender's count is given back", () -> caller.leased() == 0 && toy.live.get() == 1);
        releaseKept();
    }

    @Test
    void waitsForReceiversBeforeItLeaves() throws Exception {
        drainLimit = Duration.ofSeconds(60);
        Worker caller = pair("server", "caller");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        sent.storage().release();
        Thread leaving = new Thread(() -> close(caller), "leaving");
        leaving.start();
        leaving.join(300);
        assertThat(leaving.isAlive()).as("waits").isTrue();
        assertThat(toy.live.get()).isEqualTo(2);
        releaseKept();
        leaving.join();
        requireNothingLeft();
    }

    private static void close(Worker worker) {
        try {
            worker.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void leavesMemoryAllocatedThatAReceiverDoesNotRelease() throws IOException {
        Worker caller = pair("server", "caller");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        sent.storage().release();
        caller.close();
        releaseKept();
        assertThat(toy.live.get()).as("of the sender").isEqualTo(1);
    }

    @Test
    void failsTheCallWhenItCanNotBeOpened() throws IOException {
        Worker caller = pair("server", "caller");
        toy.opens = false;
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        assertThatThrownBy(() -> caller.call(keep(sent)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessageContaining("not here");
        sent.storage().release();
        requireNothingLeft();
        Waits.until("the lease is given back", () -> caller.leased() == 0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void failsTheCallWhenWhatStandsForTheStorageIsReturned(boolean retained) throws IOException {
        Worker server = join("server", BOTH);
        server.devices().register("toy", new Returning(new MappedToy(), retained));
        Worker caller = join("caller", BOTH, "server");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        assertThatThrownBy(() -> caller.call(keep(sent)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST))
                .hasMessageContaining("stands for the sender's storage");
        sent.storage().release();
        requireNothingLeft();
        Waits.until("the lease is given back", () -> caller.leased() == 0);
    }

    /** A converter that opens nothing. */
    private record Returning(MappedToy toy, boolean retained) implements DeviceConverter, MemorySharing {
        @Override
        public Optional<String> unavailable() {
            return toy.unavailable();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            return toy.prepareForSending(storage, streams, buffers);
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            return toy.allocateForReceiving(arrived, target, streams);
        }

        @Override
        public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) {
            return Optional.empty();
        }

        @Override
        public Storage open(ByteBuffer handle, Storage ofSender, Device target, List<DeviceStream> streams) {
            return retained ? ofSender.retain() : ofSender;
        }
    }

    @Test
    void failsTheCallWhenTheReceiverSharesNothing() throws IOException {
        Worker server = join("server", BOTH);
        server.devices().register("toy", new MappedToy());
        Worker caller = join("caller", BOTH, "server");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        assertThatThrownBy(() -> caller.call(keep(sent)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessageContaining("out of the sender's tensor.device-sharing");
        sent.storage().release();
        requireNothingLeft();
    }

    @Test
    void archivesWhatIsSharedBehindTheCall() throws Exception {
        archive = ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL);
        Worker caller = pair("server", "caller");
        Tensor sent = toy.tensor(TOY, LARGE, 3);
        caller.call(keep(sent)).close();
        sent.storage().release();
        releaseKept();
        requireNothingLeft();
        assertThat(toy.sent.get()).as("copies, for the archive").isEqualTo(1);
        caller.close();
        ArchivedRecords.Kept kept =
                ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS).get(0);
        assertThat(kept.bytes()).hasSize(LARGE).containsOnly(3);
        assertThat(kept.found().isShared()).as("the sender could write").isTrue();
    }

    @Test
    void isRefusedUnderAWrongName() {
        assertThatThrownBy(() -> join("caller", BOTH, "not a name!"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("share its devices");
        assertThat(new DeviceSettings(List.of(), Map.of(), List.of("server")).published())
                .isEmpty();
    }
}
