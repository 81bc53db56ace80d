package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.osgi.BundleForge;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors on a device, in requests, nested calls and responses of a replay. */
@Timeout(120)
class DeviceReplayTest {

    private static final NodeDistribution DISTRIBUTION = NodeDistribution.of(Path.of("target/system-bundles"));
    private static final int CALLS = 10;

    @TempDir
    private Path directory;

    private final ToyDevice toy = new ToyDevice();

    private ReplayScenario scenario(int passed, int responded) {
        return new ReplayScenario()
                .converts("toy", toy, ToyDevice.settings("b", "c"))
                .handles("c", "toy.next", (message, outbox) -> respond(message.tensor("tensor"), 1, outbox))
                .handles("b", "toy.ask", (message, outbox) -> ask(message, outbox, passed, responded));
    }

    /** Fails when the tensor is not on the device. */
    private void respond(Tensor tensor, int more, Outbox outbox) throws RejectedMessageException {
        outbox.response().tensor("tensor", next(tensor, more));
    }

    private Tensor next(Tensor tensor, int more) {
        byte[] content = ToyDevice.content(tensor).clone();
        content[1] += (byte) more;
        return toy.tensor(content);
    }

    private void ask(Message message, Outbox outbox, int passed, int responded) throws RejectedMessageException {
        Tensor sent = next(message.tensor("tensor"), passed);
        Request request = Request.operation("c", "toy.next");
        request.body().tensor("tensor", sent);
        try (Response response = outbox.caller().call(request)) {
            respond(response.tensor("tensor"), responded, outbox);
        } finally {
            sent.storage().release();
        }
    }

    private void play(Worker caller) {
        for (int n = 0; n < CALLS; n++) {
            Tensor tensor = toy.tensor((byte) n, (byte) 10, (byte) 20);
            Request request = Request.operation("b", "toy.ask");
            request.body().tensor("tensor", tensor);
            caller.call(request).close();
            tensor.storage().release();
        }
    }

    private static List<String> shown(Replay replay) throws IOException {
        List<String> shown = new ArrayList<>();
        replay.run(call -> call.results().forEach(result -> shown.add(result.verdict() + " " + result.reason())));
        return shown;
    }

    @Test
    void areComparedByACopyInHostMemory() throws Exception {
        Path home = scenario(1, 1).record(directory, this::play);
        assertThat(shown(scenario(1, 1).replay(home))).hasSize(2 * CALLS).containsOnly("SAME ");
        assertThat(toy.live.get()).as("storages on the device").isZero();
    }

    @Test
    void areShownWhereTheyDiffer() throws Exception {
        Path home = scenario(1, 1).record(directory, this::play);
        assertThat(shown(scenario(1, 5).replay(home).worker("b")))
                .hasSize(CALLS)
                .containsOnly("DIFFERENT reply.tensor: uint8[3] at [1]: recorded 13, replayed 17"
                        + " (differs in 1 of 3 elements)");
        assertThat(toy.live.get()).as("storages on the device").isZero();
    }

    @Test
    void mustBeThoseOnRecordInANestedCall() throws Exception {
        Path home = scenario(1, 1).record(directory, this::play);
        assertThat(shown(scenario(2, 1).replay(home).worker("b")))
                .hasSize(CALLS)
                .allSatisfy(line -> assertThat(line)
                        .startsWith("FAILED")
                        .contains("had other tensors: tensor 0: uint8[3] at [1]: recorded 11, replayed 12"));
        assertThat(toy.live.get()).as("storages on the device").isZero();
    }

    @Test
    void areInHostMemoryWithoutAConverter() throws Exception {
        Path home = scenario(1, 1).record(directory, this::play);
        ReplayScenario hosts = new ReplayScenario().handles("c", "toy.next", (message, outbox) -> {
            int first = message.tensor("tensor").storage().bytes(0, 1).get(0);
            if (first > 4) {
                outbox.response().int64("other", first);
            } else {
                outbox.response().tensor("tensor", copyOnHost(message.tensor("tensor"), outbox));
            }
        });
        List<String> shown = shown(hosts.replay(home).worker("c"));
        String remark = "its tensors were on a device, and are in host memory here:"
                + " Attempting to receive a Tensor with unexpected device type toy";
        assertThat(shown.subList(0, 5)).containsOnly("SAME " + remark);
        assertThat(shown.subList(5, CALLS))
                .allSatisfy(line -> assertThat(line).startsWith("NOT_REPLAYABLE " + remark + "; its response: "));
    }

    private static Tensor copyOnHost(Tensor tensor, Outbox outbox) {
        Tensor copy = Tensor.contiguous(
                tensor.dtype(), tensor.sizes(), outbox.buffers().allocate(3));
        copy.storage().bytes(0, 3).put(tensor.storage().bytes(0, 3));
        byte changed = (byte) (copy.storage().bytes(1, 1).get(0) + 1);
        copy.storage().bytes(1, 1).put(changed);
        return copy;
    }

    /** A handler that gives a storage back that it handed over harms its own request. */
    @Test
    void harmOnlyTheirCallWhenTheyAreReleasedTooEarly() throws Exception {
        Path home = scenario(1, 1).record(directory, this::play);
        ReplayScenario releasing = new ReplayScenario()
                .converts("toy", toy, ToyDevice.settings())
                .handles("c", "toy.next", (message, outbox) -> {
                    Tensor next = next(message.tensor("tensor"), 1);
                    outbox.response().tensor("tensor", next);
                    if (ToyDevice.content(next)[0] == 3) {
                        next.storage().release();
                    }
                });
        List<String> shown = shown(releasing.replay(home).worker("c"));
        assertThat(shown).hasSize(CALLS);
        assertThat(shown.get(3))
                .isEqualTo("FAILED its run ended early: java.lang.IllegalStateException: retained after its release");
        assertThat(shown).filteredOn(line -> line.equals("SAME ")).hasSize(CALLS - 1);
    }

    /** Memory of the bundle's own class, and a handler that works on it. */
    private static final String TOY = """
            @Component @ConvertsDevice("toy")
            public final class Toy implements DeviceConverter {
                public Optional<String> unavailable() {
                    return Optional.empty();
                }
                public Optional<Storage> prepareForSending(
                        Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
                    byte[] content = ((Memory) storage).content;
                    Storage copy = buffers.allocate(content.length);
                    copy.bytes(0, content.length).put(content);
                    return Optional.of(copy);
                }
                public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
                    byte[] content = new byte[(int) arrived.sizeBytes()];
                    arrived.bytes(0, content.length).get(content);
                    return new Memory(target, content);
                }
                record Memory(Device device, byte[] content) implements Storage {
                    public long sizeBytes() {
                        return content.length;
                    }
                    public long address() {
                        throw new IllegalStateException("not in host memory");
                    }
                    public java.nio.ByteBuffer bytes(long offset, int length) {
                        throw new IllegalStateException("not in host memory");
                    }
                    public Storage retain() {
                        return this;
                    }
                    public void release() {}
                }
            }
            """;

    private static final String NEXT = """
            @Component @HandlesMessage("toy.next")
            public final class Next implements MessageHandler {
                @Override
                public void handle(Message message, Outbox outbox) throws RejectedMessageException {
                    Toy.Memory memory = (Toy.Memory) message.tensor("tensor").storage();
                    byte[] next = memory.content().clone();
                    next[0]++;
                    outbox.response().tensor("tensor", Tensor.contiguous(
                            DType.UINT8, new long[] {next.length}, new Toy.Memory(memory.device(), next)));
                }
            }
            """;

    @Test
    void areMovedByTheConverterOfABundle() throws Exception {
        Path jar = new BundleForge(Files.createDirectory(directory.resolve("jars")))
                .bundle("org.acme.toy", "1.0.0")
                .source("Toy", TOY)
                .source("Next", NEXT)
                .build();
        Path home;
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry registry = workers.registry();
            Worker node = workers.join("node", registry, ToyDevice.settings("node"));
            OsgiSettings settings = OsgiSettings.builder(
                            DISTRIBUTION.bundles(),
                            node.directory().subdirectory("bundles"),
                            node.directory().subdirectory("osgi"),
                            directory.resolve("conf"))
                    .build();
            try (OsgiHost osgi =
                    OsgiHost.start(settings, registry, DeviceConverters.into(node.devices()), workers.host)) {
                osgi.bundles().install(jar);
                Worker caller = workers.join("caller", workers.registry(), ToyDevice.settings("node"));
                caller.devices().register("toy", toy);
                for (int n = 0; n < CALLS; n++) {
                    Tensor tensor = toy.tensor((byte) n, (byte) 10);
                    Request request = Request.operation("node", "toy.next");
                    request.body().tensor("tensor", tensor);
                    caller.call(request).close();
                    tensor.storage().release();
                }
            }
            home = workers.home.path();
        }
        assertThat(shown(Replay.of(home).in(DISTRIBUTION))).hasSize(CALLS).containsOnly("SAME ");
    }
}
