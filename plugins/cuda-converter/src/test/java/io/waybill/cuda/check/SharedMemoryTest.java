package io.waybill.cuda.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.converter.CudaConverter;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two processes that use tensors in the device memory of each other: in a build on the driver of the tests, by {@code tools/gpu-check} on a real one. */
@Tag("gpu")
@Timeout(300)
class SharedMemoryTest {

    private static final int UPDATES = 10;
    private static final int MANY = 200;
    private static final Duration TIMEOUT = Duration.ofSeconds(120);

    @TempDir
    private Path directory;

    private final List<Tensor> own = new ArrayList<>(); // to be released
    private Driver driver;
    private Driver driverOfPeer;
    private SharingPeer peer;
    private Worker caller;
    private CudaConverter converter;

    @BeforeEach
    void join() throws Exception {
        driver = Driver.use();
        driverOfPeer = driver.ofAnotherProcess(directory.resolve("driver-of-peer"));
        Path scratch = Files.createDirectories(directory.resolve("scratch"));
        peer = SharingPeer.start(home(), scratch, driverOfPeer.library());
        converter = new CudaConverter(0, 64);
        caller = join(GpuWorkers.GPU);
    }

    private Worker join(Device target) throws IOException {
        return Waybill.connect(home(), "caller")
                .with(converter)
                .deviceMap("server", Map.of(GpuWorkers.GPU, target))
                .shareDevices("server")
                .join();
    }

    private Path home() {
        return directory.resolve("home");
    }

    @AfterEach
    void leave() throws Exception {
        own.forEach(tensor -> tensor.storage().release());
        try {
            caller.close();
            converter.close();
            driver.requireNothingLeft();
        } finally {
            peer.close();
        }
    }

    private void requirePeerLeavesNothing() throws Exception {
        assertThat(peer.finish()).as("exit code").isZero();
        driverOfPeer.requireNothingLeft();
    }

    private Tensor tensor() throws RejectedMessageException {
        Tensor tensor = SharingPeer.tensor(converter, caller.buffers().allocate(SharingPeer.LARGE), SharingPeer.SENT);
        own.add(tensor);
        return tensor;
    }

    private void release(Tensor tensor) {
        own.remove(tensor);
        tensor.storage().release();
    }

    private Response call(String operation, Tensor... tensors) {
        Request request = Request.operation("server", operation).timeout(TIMEOUT);
        for (int i = 0; i < tensors.length; i++) {
            request.body().tensor("t" + i, tensors[i]);
        }
        return caller.call(request);
    }

    @Test
    void usesTensorsOfAnotherProcessWhereTheyAre() throws Exception {
        Tensor sent = tensor();
        for (int i = 0; i < 3; i++) {
            call("peer.check", sent).close();
        }
        call("peer.keep", sent).close();
        SharingPeer.change(sent);
        call("peer.changed").close();
        release(sent);
        requirePeerLeavesNothing();
    }

    @Test
    void givesMemoryBackAfterTheWorkOnIt() throws Exception {
        Tensor sent = tensor();
        driverOfPeer.delayWork();
        call("peer.clear", sent).close();
        Waits.until("the lease ends", () -> leases() == 0);
        assertThat(BareCopies.read(0, sent.storage().deviceAddress(), SharingPeer.LARGE))
                .as("what was written before the lease ended")
                .isEqualTo(ByteBuffer.allocate(SharingPeer.LARGE));
        release(sent);
        requirePeerLeavesNothing(); // nor closed what was in use
    }

    @Test
    void givesEachCountBackWhileTheAllocationStaysOpen() throws Exception {
        Tensor sent = tensor();
        for (int i = 0; i < MANY; i++) {
            call("peer.use", sent).close();
        }
        Waits.until("one lease at most is left", () -> leases() <= 1);
        release(sent);
        requirePeerLeavesNothing();
    }

    /** The leases that the caller has published since its last call; more than there can be before it has. */
    private long leases() throws IOException {
        return caller.metrics().read().stream()
                .filter(each -> each.worker().equals(caller.info()))
                .map(WorkerMetrics::values)
                .filter(values -> values.getOrDefault("calls.sent", 0L)
                        == caller.counters().callsSent())
                .mapToLong(values -> values.get("tensors.leases"))
                .findFirst()
                .orElse(Long.MAX_VALUE);
    }

    @Test
    void copiesFromDeviceToDevice() throws Exception {
        assumeTrue(driver.hasTwoDevices(), "the machine has one GPU");
        caller.close();
        caller = join(Device.parse("cuda:1"));
        Tensor sent = tensor();
        for (int i = 0; i < 3; i++) {
            try (Response response = call("peer.check", sent)) {
                assertThat(response.payload().get(0)).isEqualTo((byte) 1);
            }
        }
        release(sent);
        requirePeerLeavesNothing();
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1 << 20, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE})
    void refusesStoragesBeyondTheirAllocation(long offset) throws Exception {
        caller.devices().register("cuda", new LyingConverter(converter, offset));
        Tensor sent = tensor();
        assertThatThrownBy(() -> call("peer.check", sent))
                .hasMessageContaining("inside an allocation")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.PEER_CORRUPT));
        release(sent);
        requirePeerLeavesNothing();
    }

    @Test
    void losesNothingWhileTheConverterIsReplaced() throws Exception {
        AtomicBoolean ends = new AtomicBoolean();
        AtomicInteger calls = new AtomicInteger();
        CompletableFuture<Void> load = CompletableFuture.runAsync(() -> {
            while (!ends.get()) {
                try (Response made = call("peer.make")) {
                    SharingPeer.requireContent(made.tensors().get(0), SharingPeer.MADE);
                }
                calls.incrementAndGet();
            }
        });
        for (int i = 0; i < UPDATES; i++) {
            int before = calls.get();
            caller.devices().replacing("cuda");
            assertThat(caller.devices().remove("cuda", converter, TIMEOUT)).isZero();
            converter.close();
            converter = new CudaConverter(0, 64);
            caller.devices().register("cuda", converter);
            caller.devices().replaced("cuda");
            Waits.until("calls go on", () -> calls.get() > before || load.isDone());
        }
        ends.set(true);
        load.join();
        requirePeerLeavesNothing();
    }

    @Test
    void respondsWithTensorsWhereTheyAre() throws Exception {
        try (Response response = call("peer.make")) {
            Tensor made = response.tensors().get(0);
            SharingPeer.requireContent(made, SharingPeer.MADE);
            SharingPeer.change(made);
            call("peer.changed").close();
            SharingPeer.requireContent(made, SharingPeer.CHANGED);
        }
        requirePeerLeavesNothing();
    }

    @Test
    void keepsMemoryForAsLongAsTheOtherProcessDoes() throws Exception {
        Tensor sent = tensor();
        call("peer.keep", sent).close();
        release(sent);
        Tensor other = tensor();
        call("peer.check", other).close(); // leases that were given back are read before it is sent
        release(other);
        Tensor next = tensor(); // not where the first one is
        SharingPeer.change(next);
        try (Response response = call("peer.give")) { // copied: the driver shares no memory of other processes
            SharingPeer.requireContent(response.tensors().get(0), SharingPeer.SENT);
        }
        release(next);
        requirePeerLeavesNothing();
    }

    @Test
    void takesMemoryBackFromAProcessThatEnded() throws Exception {
        Tensor sent = tensor();
        call("peer.keep", sent).close();
        release(sent);
        peer.kill();
        Waits.until("the lease ends", () -> leases() == 0);
    }
}
