package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The converter of a bundle in a real framework and a real home, while the bundle is updated. */
@Timeout(600)
class ConverterBundleTest {

    private static final int CALLERS = 2;
    private static final int IN_FLIGHT = 8; // of each caller
    private static final int LARGE = 100_000;

    /** Memory of the bundle's own class, which no other version knows; nothing may be asked of it after its end. */
    private static final String TOY = """
            @Component
            @ConvertsDevice("toy")
            public final class Toy implements DeviceConverter, MappingListener {
                private final Set<MappedSegment> pinned = ConcurrentHashMap.newKeySet();
                private volatile boolean ended;

                @Override
                public Optional<String> unavailable() {
                    return Optional.empty();
                }

                @Override
                public Optional<Storage> prepareForSending(
                        Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
                    byte[] content = ((Memory) storage).content;
                    Storage copy = buffers.allocate(content.length);
                    copy.bytes(0, content.length).put(content);
                    requireActive();
                    return Optional.of(copy);
                }

                @Override
                public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
                    Memory memory = new Memory(target, (int) arrived.sizeBytes());
                    arrived.bytes(0, memory.content.length).get(memory.content);
                    requireActive();
                    return memory;
                }

                @Override
                public void mapped(MappedSegment segment) {
                    requireActive();
                    pinned.add(segment);
                }

                @Override
                public void unmapping(MappedSegment segment) {
                    requireActive();
                    pinned.remove(segment);
                }

                @Deactivate
                void end() {
                    ended = true;
                    if (!pinned.isEmpty()) {
                        throw new IllegalStateException("VERSION ends with pinned segments: " + pinned);
                    }
                }

                private void requireActive() {
                    if (ended) {
                        throw new IllegalStateException("version VERSION is called after its end");
                    }
                }

                static final class Memory implements Storage {
                    private final java.util.concurrent.atomic.AtomicInteger count =
                            new java.util.concurrent.atomic.AtomicInteger(1);
                    private final Device device;
                    private final byte[] content;

                    Memory(Device device, int size) {
                        this.device = device;
                        this.content = new byte[size];
                    }

                    @Override
                    public Device device() {
                        return device;
                    }

                    @Override
                    public long sizeBytes() {
                        return content.length;
                    }

                    @Override
                    public long address() {
                        throw new IllegalStateException("not in host memory");
                    }

                    @Override
                    public java.nio.ByteBuffer bytes(long offset, int length) {
                        throw new IllegalStateException("not in host memory");
                    }

                    @Override
                    public Storage retain() {
                        count.incrementAndGet();
                        return this;
                    }

                    @Override
                    public void release() {
                        if (count.decrementAndGet() < 0) {
                            throw new IllegalStateException("released too often");
                        }
                    }
                }
            }
            """;

    @TempDir
    Path directory;

    private final AtomicLong served = new AtomicLong();
    private final AtomicLong responses = new AtomicLong();
    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry registry;
    private Worker worker;
    private Worker peer;
    private Worker caller;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        registry = workers.registry();
        worker = join("node", registry, "peer toy:0=cpu");
        workers.handle(registry, "toy.both", this::forward);
        HandlerRegistry far = workers.registry();
        workers.handle(far, "toy.far", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(ByteBuffer.allocate(1), message.tensors());
        });
        peer = join("peer", far, "none");
        caller = join("caller", workers.registry(), "node cpu=toy:0");
        node = new TestNode(directory.resolve("osgi"), registry, worker);
    }

    private Worker join(String name, HandlerRegistry handlers, String maps) throws Exception {
        return workers.join(
                name,
                handlers,
                Workers.SETTINGS.toBuilder()
                        .devices(new DeviceSettings(List.of(), DeviceSettings.parseMaps(maps)))
                        .build());
    }

    /** Sends the tensors, which are on the device, to the peer, and responds with those that come back. */
    private void forward(Message message, Outbox outbox) {
        Request request = Request.operation("peer", "toy.far").timeout(Duration.ofSeconds(60));
        int number = 0;
        for (Tensor tensor : message.tensors()) {
            assertThat(tensor.device()).isEqualTo(Device.parse("toy:0"));
            request.body().tensor("t" + number++, tensor);
        }
        try (Response response = outbox.caller().call(request)) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(ByteBuffer.allocate(1), response.tensors());
        }
        served.incrementAndGet();
    }

    @AfterEach
    void stop() throws Exception {
        node.close();
        workers.close();
    }

    private Path version(int version) throws Exception {
        return forge.bundle("org.acme.toy", version + ".0.0")
                .source("Toy", TOY.replace("VERSION", Integer.toString(version)))
                .build();
    }

    private CompletableFuture<Response> call(int content) {
        Request request = Request.operation("node", "toy.both").timeout(Duration.ofSeconds(60));
        for (int size : new int[] {LARGE, 10}) {
            Tensor tensor = Tensor.contiguous(
                    DType.UINT8, new long[] {size}, caller.buffers().allocate(size));
            tensor.storage().bytes(size - 1, 1).put(0, (byte) content);
            request.body().tensor("t" + size, tensor);
        }
        CompletableFuture<Response> called = caller.callAsync(request);
        request.tensors().forEach(tensor -> tensor.storage().release());
        return called;
    }

    /** Has some calls in flight at once, and checks their responses. */
    private void callAll() {
        List<CompletableFuture<Response>> calls =
                IntStream.range(0, IN_FLIGHT).mapToObj(this::call).toList();
        for (int i = 0; i < IN_FLIGHT; i++) {
            try (Response response = calls.get(i).join()) {
                assertThat(response.tensors()).hasSize(2);
                for (Tensor tensor : response.tensors()) {
                    assertThat(tensor.device()).isEqualTo(Device.CPU);
                    long last = tensor.storage().sizeBytes() - 1;
                    assertThat(tensor.storage().bytes(last, 1).get(0)).isEqualTo((byte) i);
                }
                responses.incrementAndGet();
            }
        }
    }

    @Test
    void losesDoublesAndFailsNoCallWhileItIsUpdated() throws Exception {
        updateUnderCalls(20);
    }

    @Test
    @Tag("ci")
    void losesDoublesAndFailsNoCallInManyUpdates() throws Exception {
        updateUnderCalls(200);
    }

    private void updateUnderCalls(int updates) throws Exception {
        Path[] versions = {version(1), version(2)};
        node.bundles().install(versions[0]);
        AtomicBoolean stopped = new AtomicBoolean();
        List<CompletableFuture<Void>> calling = IntStream.range(0, CALLERS)
                .mapToObj(each -> CompletableFuture.runAsync(() -> {
                    while (!stopped.get()) {
                        callAll();
                    }
                }))
                .toList();
        for (int update = 1; update <= updates; update++) {
            node.bundles().update(versions[update % 2]);
            long before = responses.get();
            Waits.until(
                    "calls go on",
                    () -> responses.get() > before || calling.stream().anyMatch(CompletableFuture::isDone));
        }
        stopped.set(true);
        for (CompletableFuture<Void> each : calling) {
            each.get();
        }
        assertThat(served).as("requests that were handled").hasValue(responses.get());
        assertThat(registry.errors().of("org.acme.toy"))
                .as("failures of the bundle")
                .isZero();
        node.bundles().uninstall("org.acme.toy");
        assertThat(worker.devices().types()).containsOnlyKeys("cpu");
        for (Worker each : List.of(worker, peer, caller)) {
            Waits.until("no call of " + each.info() + " is in flight", () -> each.pendingCalls() == 0);
            Waits.until("leases of " + each.info() + " are back", () -> Workers.leases(each) == 0);
        }
        Waits.until("the old class loaders are unreachable", () -> {
            System.gc();
            return node.host.loaders().leaked(Duration.ZERO).isEmpty();
        });
    }
}
