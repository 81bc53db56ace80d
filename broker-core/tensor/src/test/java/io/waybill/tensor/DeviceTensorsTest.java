package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.device.DeviceMemory;
import io.waybill.wire.MessageBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tensors on a device that only a converter knows. */
@Timeout(60)
class DeviceTensorsTest {

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;
    private final AtomicInteger live = new AtomicInteger();
    private int preparations;

    @BeforeEach
    void open() {
        transit = new Transit(directory, leaks);
    }

    @AfterEach
    void close() {
        assertThat(live).as("storages on the device").hasValue(0);
        transit.close();
    }

    private record Stream(Device device, String name) implements DeviceStream {
        @Override
        public String toString() {
            return name;
        }
    }

    /** Moves bytes to and from the device, and flips them on the way down so that one sees that it was asked. */
    private final class Flipping implements DeviceConverter {
        private Optional<String> reason = Optional.empty();
        private ErrorCode failure;
        /** What was called, with which streams. */
        private final List<String> calls = new ArrayList<>();

        @Override
        public Optional<String> unavailable() {
            return reason;
        }

        @Override
        public List<DeviceStream> streams(Device device) {
            calls.add("streams of " + device);
            return List.of(new Stream(device, "s" + calls.size()));
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
                throws RejectedMessageException {
            preparations++;
            calls.add("send with " + streams);
            if (failure != null) {
                throw new RejectedMessageException(failure, "the device is on fire");
            }
            byte[] content = ((DeviceMemory) storage).content();
            Storage copy = buffers.allocate(content.length);
            for (int i = 0; i < content.length; i++) {
                copy.bytes(i, 1).put(0, (byte) ~content[i]);
            }
            return Optional.of(copy);
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
                throws RejectedMessageException {
            if (failure != null) {
                throw new RejectedMessageException(failure, "the device is on fire");
            }
            calls.add("receive with " + streams);
            DeviceMemory memory = new DeviceMemory(target, (int) arrived.sizeBytes(), live);
            arrived.bytes(0, memory.content().length).get(memory.content());
            return memory;
        }
    }

    private Tensor onDevice(String device, int size) {
        DeviceMemory memory = new DeviceMemory(Device.parse(device), size, live);
        for (int i = 0; i < size; i++) {
            memory.content()[i] = (byte) i;
        }
        return memory.tensor();
    }

    @Test
    void refusesToSendWithoutAConverter() {
        Tensor tensor = onDevice("cuda:0", 10);
        assertThatThrownBy(() -> transit.send(tensor))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessage("Attempting to send a Tensor with unexpected device type cuda");
        tensor.storage().release();
    }

    @Test
    void refusesToReceiveWithoutAConverter() throws Exception {
        Flipping converter = new Flipping();
        transit.devices.register("toy", converter);
        Tensor tensor = onDevice("toy:0", 100_000);
        MessageBuffer record = transit.send(tensor);
        transit.devices.remove("toy", converter);
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessage("Attempting to receive a Tensor with unexpected device type toy");
        assertThat(transit.returned.count()).isEqualTo(1);
        tensor.storage().release();
    }

    @Test
    void saysWhyAConverterIsUnavailable() {
        Flipping converter = new Flipping();
        converter.reason = Optional.of("no libtoy.so");
        transit.devices.register("toy", converter);
        Tensor tensor = onDevice("toy", 10);
        assertThatThrownBy(() -> transit.send(tensor)).hasMessageContaining("no libtoy.so");
        tensor.storage().release();
    }

    @Test
    void carriesTensorsBetweenDevices() throws Exception {
        transit.devices.register("toy", new Flipping());
        Tensor small = onDevice("toy:3", 50);
        Tensor large = onDevice("toy", 100_000);
        Tensor part = new Tensor(DType.UINT8, new long[] {5}, new long[] {2}, 7, false, large.storage());
        HostStorage host = transit.filled(20);
        Tensor onHost = Tensor.contiguous(DType.UINT8, new long[] {20}, host);
        ReceivedTensors received = transit.receive(transit.send(small, large, onHost, part, large));
        assertThat(preparations).as("one per storage").isEqualTo(2);
        List<Tensor> tensors = received.tensors();
        assertThat(tensors.get(0).device()).isEqualTo(Device.parse("toy:3"));
        assertThat(tensors.get(1).device()).isEqualTo(Device.parse("toy"));
        assertThat(tensors.get(2).device()).isEqualTo(Device.CPU);
        assertThat(((DeviceMemory) tensors.get(0).storage()).content()[9]).isEqualTo((byte) ~9);
        assertThat(((DeviceMemory) tensors.get(1).storage()).content()[99_999]).isEqualTo((byte) ~99_999);
        assertThat(((DeviceMemory) tensors.get(3).storage()).content()).containsExactly(~7, ~9, ~11, ~13, ~15);
        assertThat(tensors.get(4).storage()).isSameAs(tensors.get(1).storage());
        received.release();
        for (Tensor tensor : List.of(small, large, onHost)) {
            tensor.storage().release();
        }
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
    }

    @Test
    void passesOneSetOfStreamsPerMessageAndDevice() throws Exception {
        Flipping converter = new Flipping();
        transit.devices.register("toy", converter);
        Tensor first = onDevice("toy:0", 50);
        Tensor second = onDevice("toy:1", 60);
        Tensor third = onDevice("toy:0", 100_000);

        MessageBuffer record = transit.send(first, second, third);
        assertThat(converter.calls)
                .containsExactly(
                        "streams of toy:0", "send with [s1]", "streams of toy:1", "send with [s3]", "send with [s1]");
        converter.calls.clear();
        ReceivedTensors received = transit.receive(record);
        assertThat(converter.calls)
                .containsExactly(
                        "streams of toy:0",
                        "receive with [s1]",
                        "streams of toy:1",
                        "receive with [s3]",
                        "receive with [s1]");
        converter.calls.clear();
        transit.receive(transit.send(first)).release();
        assertThat(converter.calls)
                .as("the next message")
                .containsExactly("streams of toy:0", "send with [s1]", "streams of toy:0", "receive with [s3]");
        received.release();
        for (Tensor tensor : List.of(first, second, third)) {
            tensor.storage().release();
        }
    }

    @Test
    void aFailingDeviceLeavesNothingBehind() throws Exception {
        Flipping converter = new Flipping();
        transit.devices.register("toy", converter);
        Tensor tensor = onDevice("toy", 100_000);
        HostStorage host = transit.filled(20_000);
        Tensor onHost = Tensor.contiguous(DType.UINT8, new long[] {20_000}, host);
        MessageBuffer record = transit.send(onHost, tensor);
        converter.failure = ErrorCode.DEVICE_LOST;
        assertThatThrownBy(() -> transit.send(onHost, tensor))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST));
        assertThatThrownBy(() -> transit.receive(record))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST));
        transit.sender.reclaim();
        assertThat(transit.pool.usedBytes()).isZero();
        tensor.storage().release();
        host.release();
    }

    @Test
    void namesAtMostSixtyFourDevices() {
        transit.devices.register("toy", new Flipping());
        Tensor[] tensors = new Tensor[65];
        for (int i = 0; i < tensors.length; i++) {
            tensors[i] = onDevice("toy:" + i, 1);
        }
        assertThatThrownBy(() -> transit.send(tensors))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TOO_LARGE));
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
    }
}
