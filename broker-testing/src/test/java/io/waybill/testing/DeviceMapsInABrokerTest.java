package io.waybill.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Caller;
import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.testing.toy.ToyConverter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A bundle with a converter, whose tensors arrive where the maps of the test say. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class DeviceMapsInABrokerTest {

    @RegisterExtension
    static final WaybillExtension WAYBILL =
            WaybillExtension.with(WorkerSetup.of(bundle()).devices("toy:0 toy:1"));

    private TestBroker broker;

    private static Path bundle() {
        try {
            return PackedBundles.of(ToyConverter.class, "1.0.0", Path.of("target"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @BeforeEach
    void take(TestBroker given) {
        broker = given;
    }

    /** Returns where the tensor was at the server, and where that of the response is. */
    private static String where(Caller caller, TensorBuffers buffers) {
        Storage storage = buffers.allocate(3);
        storage.bytes(0, 3).put(new byte[] {7, 8, 9});
        Request request = Request.operation(TestBroker.SERVER, "toy.echo");
        request.body().tensor("t", Tensor.contiguous(DType.UINT8, new long[] {3}, storage));
        try (Response response = caller.call(request)) {
            Tensor back = response.tensors().get(0);
            assertThat(back.storage().bytes(2, 1).get()).isEqualTo((byte) 9);
            Value at = ((Value.Items) response.value()).values().get(0);
            return ((Value.Text) at).value() + " > " + back.device();
        } finally {
            storage.release();
        }
    }

    private String from(String worker) {
        return where(broker.caller(worker), broker.buffers(worker));
    }

    @Test
    void movesTensorsAsTheMapSays() throws Exception {
        broker.join("trainer", WorkerSetup.of().deviceMaps("server cpu=toy:1"));
        assertThat(from("trainer")).isEqualTo("toy:1 > cpu");
        assertThat(from(TestBroker.CALLER)).isEqualTo("cpu > cpu");
    }

    @Test
    void keepsItsMapsInARestart() throws Exception {
        broker.join("trainer", WorkerSetup.of().deviceMaps("server cpu=toy:1"));
        broker.restart("trainer");
        broker.restart();
        assertThat(from("trainer")).isEqualTo("toy:1 > cpu");
    }

    @Test
    void hasMapsInAProcessToo() throws Exception {
        broker.startProcess(
                "trainer", WorkerSetup.of().handler("trainer.ask", Asking.class).deviceMaps("server cpu=toy:0"));
        try (Response response = broker.caller().call(Request.operation("trainer", "trainer.ask"))) {
            assertThat(response.value()).isEqualTo(Value.of("toy:0 > cpu"));
        }
    }

    /** Calls the server, by the map of its own worker. */
    private static final class Asking implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.respond(Value.of(where(outbox.caller(), outbox.buffers())));
        }
    }

    @Test
    void refusesAMapToADeviceThatThePeerLacks() throws Exception {
        assertThatThrownBy(() -> broker.join("trainer", WorkerSetup.of().deviceMaps("server cpu=toy:5")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("unexpected target devices in its device map for server: cpu=toy:5");
        assertThatThrownBy(() -> WorkerSetup.of().deviceMaps("server toy:0=cpu toy:1=cpu"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a device map only supports 1-to-1 mapping");
        assertThatThrownBy(() -> broker.join("trainer", WorkerSetup.of().devices("toy:0 toy:0")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Node trainer has duplicated devices: toy:0 toy:0");
        assertThat(broker.join("trainer")).as("the name is free again").isNotNull();
    }
}
