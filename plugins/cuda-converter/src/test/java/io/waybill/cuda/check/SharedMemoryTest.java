package io.waybill.cuda.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.converter.CudaConverter;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two processes that use tensors in the device memory of each other: in a build on the driver of the tests, by {@code tools/gpu-check} on a real one. */
@Tag("gpu")
@Timeout(300)
class SharedMemoryTest {

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
        caller = Waybill.connect(home(), "caller")
                .with(converter)
                .deviceMap("server", Map.of(GpuWorkers.GPU, GpuWorkers.GPU))
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
        Waits.until(
                "the lease ends",
                () -> caller.metrics().read().stream()
                        .filter(each -> each.worker().equals(caller.info()))
                        .allMatch(each -> each.values().get("tensors.leases") == 0));
    }
}
