package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.cuda.standin.StandIn;
import io.waybill.device.DeviceSettings;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** PyTorch's tests of device maps: zeros on one device plus ones on another are added on a third one, and the sum comes back by the reverse map. */
@Timeout(600)
class CudaMapsTest {

    private static final int SIZE = 200_000;

    @TempDir
    private Path directory;

    private CudaConverter converter;

    /** Adds two tensors on a device. */
    private void add(Message message, Outbox outbox) throws RejectedMessageException {
        ByteBuffer x = content(message.tensors().get(0));
        ByteBuffer y = content(message.tensors().get(1));
        String devices = message.tensors().stream()
                .map(tensor -> tensor.device().toString())
                .collect(Collectors.joining(" "));
        Storage sum = outbox.buffers().allocate(SIZE);
        ByteBuffer bytes = sum.bytes(0, SIZE);
        for (int i = 0; i < SIZE; i++) {
            bytes.put(i, (byte) (x.get(i) + y.get(i)));
        }
        Tensor result = placed(sum, Device.parse(message.text("on")));
        outbox.respond(ByteBuffer.wrap(devices.getBytes(StandardCharsets.UTF_8)), List.of(result));
    }

    private static ByteBuffer content(Tensor tensor) {
        return tensor.device().isCpu() ? tensor.storage().bytes(0, SIZE) : DeviceCode.read(tensor.storage());
    }

    /** Takes the count of a storage over. */
    private Tensor placed(Storage host, Device device) throws RejectedMessageException {
        Storage placed = host;
        if (!device.isCpu()) {
            placed = converter.allocateForReceiving(host, device, converter.streams(device));
            host.release();
        }
        return Tensor.contiguous(DType.UINT8, new long[] {SIZE}, placed);
    }

    private Tensor filled(TensorBuffers buffers, Device device, int value) throws RejectedMessageException {
        Storage host = buffers.allocate(SIZE);
        ByteBuffer bytes = host.bytes(0, SIZE);
        for (int i = 0; i < SIZE; i++) {
            bytes.put(i, (byte) value);
        }
        return placed(host, device);
    }

    @ParameterizedTest
    @CsvSource({
        "cpu, cpu, cuda:0, cpu=cuda:0",
        "cpu, cpu, cuda:1, cpu=cuda:1",
        "cuda:0, cuda:0, cpu, cuda:0=cpu",
        "cuda:1, cuda:1, cpu, cuda:1=cpu",
        "cuda:0, cuda:0, cuda:0, cuda:0=cuda:0",
        "cuda:1, cuda:1, cuda:1, cuda:1=cuda:1",
        "cuda:0, cuda:0, cuda:1, cuda:0=cuda:1",
        "cuda:1, cuda:1, cuda:0, cuda:1=cuda:0",
        "cuda:0, cuda:1, cuda:0, cuda:0=cuda:0 cuda:1=cuda:1",
        "cuda:0, cuda:1, cuda:1, cuda:0=cuda:0 cuda:1=cuda:1",
        "cuda:1, cuda:0, cuda:0, cuda:0=cuda:0 cuda:1=cuda:1",
        "cuda:1, cuda:0, cuda:1, cuda:0=cuda:0 cuda:1=cuda:1",
        "cuda:0, cuda:1, cuda:0, cuda:0=cuda:1 cuda:1=cuda:0",
        "cuda:0, cuda:1, cuda:1, cuda:0=cuda:1 cuda:1=cuda:0",
        "cuda:1, cuda:0, cuda:0, cuda:0=cuda:1 cuda:1=cuda:0",
        "cuda:1, cuda:0, cuda:1, cuda:0=cuda:1 cuda:1=cuda:0"
    })
    @SuppressWarnings("try")
    void addsOnTheMappedDevices(String x, String y, String z, String map) throws Exception {
        StandIn driver = CudaWorkers.driver();
        converter = new CudaConverter(0, 64);
        Path home = directory.resolve("home");
        Map<Device, Device> there = DeviceSettings.parseMaps("any " + map).get("any");
        try (Worker other = Waybill.connect(home, "worker1")
                        .with(converter)
                        .with("maps.add", this::add)
                        .join();
                Worker caller = Waybill.connect(home, "worker0")
                        .with(converter)
                        .with("maps.add", this::add)
                        .deviceMap("worker0", there)
                        .deviceMap("worker1", there)
                        .join()) {
            for (String to : new String[] {"worker1", "worker0"}) {
                Request request = Request.operation(to, "maps.add").timeout(Duration.ofSeconds(120));
                Tensor zeros = filled(caller.buffers(), Device.parse(x), 0);
                Tensor ones = filled(caller.buffers(), Device.parse(y), 1);
                request.body().text("on", z).tensor("x", zeros).tensor("y", ones);
                try (Response response = caller.call(request)) {
                    assertThat(StandardCharsets.UTF_8.decode(response.payload()).toString())
                            .isEqualTo(there.get(Device.parse(x)) + " " + there.get(Device.parse(y)));
                    Tensor sum = response.tensors().get(0);
                    assertThat(sum.device()).isEqualTo(source(there, Device.parse(z)));
                    ByteBuffer bytes = content(sum);
                    assertThat(IntStream.range(0, SIZE).allMatch(i -> bytes.get(i) == 1))
                            .isTrue();
                } finally {
                    zeros.storage().release();
                    ones.storage().release();
                }
            }
        }
        converter.close();
        assertThat(driver.nonZero("live_")).isEmpty();
        assertThat(driver.get("violations")).isZero();
    }

    private static Device source(Map<Device, Device> map, Device target) {
        return map.entrySet().stream()
                .filter(each -> each.getValue().equals(target))
                .map(Entry::getKey)
                .findAny()
                .orElse(target);
    }
}
