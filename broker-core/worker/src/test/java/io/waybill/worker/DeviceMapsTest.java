package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors on devices between workers whose devices differ. */
@Timeout(300)
class DeviceMapsTest {

    private static final Device CPU = Device.CPU;
    private static final Device ZERO = Device.parse("toy:0");
    private static final Device ONE = Device.parse("toy:1");
    private static final Device TWO = Device.parse("toy:2");
    private static final int LARGE = 100_000;

    @TempDir
    private Path directory;

    private final MappedToy toy = new MappedToy();
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
        Waits.until("memory on devices is released", () -> toy.live.get() == 0);
    }

    private Worker join(String name, String devices, String maps) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "map.echo", DeviceMapsTest::echo);
        workers.handle(handlers, "map.make", (message, outbox) -> {
            Device device = Device.parse(message.text("on"));
            outbox.respond(ByteBuffer.allocate(1), List.of(toy.tensor(device, 10, 8), toy.tensor(device, LARGE, 9)));
        });
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            Invocation call = message.invocation();
            outbox.respond(Value.of(toy.tensor(Device.parse(call.name().substring("make::".length())), LARGE, 5)));
        });
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .devices(new DeviceSettings(DeviceSettings.parseDevices(devices), DeviceSettings.parseMaps(maps)))
                .build();
        Worker worker = workers.join(name, handlers, settings);
        worker.devices().register("toy", toy);
        return worker;
    }

    /** Responds with the tensors, and the devices that they were on. */
    private static void echo(Message message, Outbox outbox) {
        message.tensors().forEach(tensor -> tensor.storage().retain());
        outbox.respond(ByteBuffer.wrap(devices(message.tensors()).getBytes(StandardCharsets.UTF_8)), message.tensors());
    }

    private static String devices(List<Tensor> tensors) {
        return tensors.stream().map(tensor -> tensor.device().toString()).collect(Collectors.joining(" "));
    }

    /** Returns the devices at the callee, and those of the response. */
    private static String echoed(Worker caller, String to, List<Tensor> tensors) {
        Request request = Request.operation(to, "map.echo").timeout(Duration.ofSeconds(60));
        for (int i = 0; i < tensors.size(); i++) {
            request.body().tensor("t" + i, tensors.get(i));
        }
        try (Response response = caller.call(request)) {
            return StandardCharsets.UTF_8.decode(response.payload()) + " > " + devices(response.tensors());
        }
    }

    private static Request make(String to, Device on) {
        Request request = Request.operation(to, "map.make").timeout(Duration.ofSeconds(60));
        request.body().text("on", on.toString());
        return request;
    }

    private Tensor onHost(Worker worker, int size) {
        return Tensor.contiguous(
                DType.UINT8, new long[] {size}, worker.buffers().allocate(size));
    }

    private static void release(List<Tensor> tensors) {
        tensors.forEach(tensor -> tensor.storage().release());
    }

    private static void fails(ThrowingCallable call, ErrorCode code, String... texts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(code))
                .hasMessageContainingAll(texts);
    }

    @Test
    void mapsEachTensorThereAndBack() throws IOException {
        Worker caller = join("caller", "none", "server toy:0=toy:1 toy:1=toy:0 toy:2=cpu");
        join("server", "toy:0 toy:1", "none");
        Tensor large = toy.tensor(ZERO, LARGE, 3);
        Tensor small = toy.tensor(ONE, 10, 4);
        Tensor toHost = toy.tensor(TWO, LARGE, 5);
        Tensor part = new Tensor(DType.UINT8, new long[] {2}, new long[] {1}, 1, false, small.storage());
        Tensor host = onHost(caller, 20);
        // some over one storage: the devices are those of the tensors, not of the storages in their order
        assertThat(echoed(caller, "server", List.of(large, small, part, host, toHost, small, large)))
                .isEqualTo("toy:1 toy:0 toy:0 cpu cpu toy:0 toy:1 > toy:0 toy:1 toy:1 toy:2 toy:2 toy:1 toy:0");
        release(List.of(large, small, toHost, host));
        try (Response made = caller.call(make("server", ONE))) {
            assertThat(devices(made.tensors())).isEqualTo("toy:0 toy:0");
            assertThat(made.tensors()).extracting(MappedToy::content).containsExactly(8, 9);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"caller", "server"})
    void mapsHostMemoryToADevice(String to) throws IOException {
        Worker caller = join("caller", "toy:0", to + " cpu=toy:0");
        if (to.equals("server")) {
            join("server", "none", "none");
        }
        Tensor host = onHost(caller, LARGE);
        assertThat(echoed(caller, to, List.of(host))).isEqualTo("toy:0 > cpu");
        host.storage().release();
    }

    @Test
    void refusesDevicesThatAreNotMappedAtOnce() throws IOException {
        Worker caller = join("caller", "none", "none");
        Worker server = join("server", "none", "caller toy:0=toy:0");
        Tensor host = onHost(caller, LARGE);
        Tensor tensor = toy.tensor(ZERO, LARGE, 3);
        Tensor other = toy.tensor(ONE, 10, 0);
        long requests = caller.counters().callsSent();
        fails(
                () -> echoed(caller, "server", List.of(host, tensor)),
                ErrorCode.DEVICE_UNMAPPED,
                "only CPU tensors are sent by default",
                "Request device mapping is not available for destination server, but found tensor on device: toy:0");
        assertThat(caller.counters().callsSent()).as("requests in the journal").isEqualTo(requests);
        assertThat(caller.pendingCalls()).isZero();
        assertThat(toy.sent).as("conversions").hasValue(0);
        fails(
                () -> caller.call(make("server", ZERO)).close(),
                ErrorCode.DEVICE_UNMAPPED,
                "Response device mapping is not available for destination caller, but found tensor on device: toy:0");
        fails(
                () -> echoed(server, "caller", List.of(other)),
                ErrorCode.DEVICE_UNMAPPED,
                "Request device mapping is not available for destination caller for device toy:1 but received a tensor");
        fails(
                () -> server.call(make("caller", TWO)).close(),
                ErrorCode.DEVICE_UNMAPPED,
                "Response device mapping is not available for destination server for device toy:2");
        assertThat(echoed(caller, "server", List.of(host))).as("others go on").isEqualTo("cpu > cpu");
        release(List.of(host, tensor, other));
        Waits.until("leases are back", () -> Workers.leases(caller) + Workers.leases(server) == 0);
    }

    @Test
    void refusesItsOwnMistakesWhenItJoins() throws IOException {
        assertThatThrownBy(() -> join("caller", "toy:0", "server toy:1=toy:0; other toy=toy:0"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Node caller has unexpected source devices in its device map for server")
                .hasMessageContaining(
                        "Node caller has source devices with invalid indices in its device map for other");
        join("server", "toy:0", "none");
        assertThatThrownBy(() -> join("caller", "none", "server toy:0=toy:1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Node caller has unexpected target devices in its device map for server: toy:0=toy:1;"
                        + " the devices of server are toy:0");
        assertThat(join("caller", "none", "server toy:0=toy:0").info().name())
                .as("the name is free")
                .isEqualTo("caller");
    }

    @Test
    void checksAPeerThatJoinsLaterInBothDirections() throws IOException {
        Worker caller = join("caller", "toy:0", "server toy:0=toy:1");
        Worker server = join("server", "toy:0", "none");
        Tensor tensor = toy.tensor(ZERO, 10, 3);
        fails(
                () -> echoed(caller, "server", List.of(tensor)),
                ErrorCode.DEVICE_UNMAPPED,
                "Node caller has unexpected target devices in its device map for server: toy:0=toy:1; the devices of"
                        + " server are toy:0");
        fails(
                () -> caller.call(make("server", ONE)).close(),
                ErrorCode.DEVICE_UNMAPPED,
                "Response device mapping is not available for destination caller: Node caller has unexpected target");
        Tensor host = onHost(caller, 10);
        assertThat(echoed(caller, "server", List.of(host))).isEqualTo("cpu > cpu");

        server.close();
        join("server", "toy:0 toy:1", "none");
        assertThat(echoed(caller, "server", List.of(tensor)))
                .as("its next incarnation has the device")
                .isEqualTo("toy:1 > toy:0");
        release(List.of(tensor, host));
    }

    @Test
    void fetchesTheValueOfAReferenceByTheMap() throws IOException {
        Worker caller = join("caller", "none", "server toy:1=toy:0");
        Worker server = join("server", "none", "none");
        Invocation make = new Invocation("make::toy:0", List.of(), Map.of());
        try (RRef reference = caller.rpc().remote("server", make)) {
            try (Response fetched = reference.toHere(Duration.ofSeconds(60))) {
                assertThat(devices(fetched.tensors())).isEqualTo("toy:1");
                assertThat(fetched.tensors()).extracting(MappedToy::content).containsExactly(5);
            }
            Waits.until("the owner keeps it in host memory", () -> toy.live.get() == 0);
        }
        try (RRef own = server.rpc().remote("server", make)) {
            fails(() -> own.keep(), ErrorCode.NOT_KEPT, "tensors on a device");
            try (Response local = own.toHere(Duration.ofSeconds(60))) {
                assertThat(devices(local.tensors())).as("at its owner").isEqualTo("toy:0");
                assertThat(local.tensors()).extracting(MappedToy::content).containsExactly(5);
                assertThat(local.tensors()).isEqualTo(local.tensors());
            }
        }
        Invocation unmapped = new Invocation("make::toy:2", List.of(), Map.of());
        try (RRef reference = caller.rpc().remote("server", unmapped)) {
            fails(
                    () -> reference.toHere(Duration.ofSeconds(60)).close(),
                    ErrorCode.DEVICE_UNMAPPED,
                    "Response device mapping is not available for destination caller for device toy:2");
        }
        for (Worker worker : List.of(caller, server)) {
            Waits.until("leases are back", () -> Workers.leases(worker) == 0);
        }
    }

    @Test
    void aWorkerRefusesADeviceThatItDoesNotHave() throws IOException {
        Worker server = join("server", "toy:0", "none");
        assertThatThrownBy(() -> server.devices().forReceiving(ONE))
                .hasMessage("Attempting to receive a Tensor on the unexpected device toy:1; the devices are toy:0");
        assertThat(server.devices().types()).containsKey("toy");
    }

    @Test
    void aProgramConnectsWithMaps() throws IOException {
        try (Worker server = Waybill.connect(workers.home, "server")
                        .devices(ZERO)
                        .with("map.echo", DeviceMapsTest::echo)
                        .join();
                Worker caller = Waybill.connect(workers.home, "caller")
                        .deviceMap("server", Map.of(ONE, ZERO))
                        .deviceMap("server", Map.of(CPU, CPU))
                        .join()) {
            assertThat(caller.directory().record().settings())
                    .containsEntry("deviceMaps", "server toy:1=toy:0 cpu=cpu");
            assertThat(server.directory().record().settings()).containsEntry("devices", "toy:0");
            server.devices().register("toy", toy);
            caller.devices().register("toy", toy);
            Tensor tensor = toy.tensor(ONE, LARGE, 1);
            assertThat(echoed(caller, "server", List.of(tensor))).isEqualTo("toy:0 > toy:1");
            tensor.storage().release();
        }
        assertThatThrownBy(() -> Waybill.connect(workers.home, "caller")
                        .deviceMap("server", Map.of(ONE, ZERO))
                        .deviceMap("server", Map.of(ONE, TWO)))
                .hasMessage("a device map only supports 1-to-1 mapping, trying to map toy:1 to toy:0 and toy:2");
    }
}
