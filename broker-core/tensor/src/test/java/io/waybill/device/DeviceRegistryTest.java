package io.waybill.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.Host;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class DeviceRegistryTest {

    private final DeviceRegistry registry = new DeviceRegistry(Host.real().threads());
    private final Device cuda = Device.parse("cuda:1");

    /** A converter that only says whether it is there. */
    private record Named(Optional<String> unavailable) implements DeviceConverter {
        @Override
        public Optional<Storage> prepareForSending(Storage s, List<DeviceStream> streams, TensorBuffers buffers) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            throw new UnsupportedOperationException();
        }
    }

    /** A converter that makes streams. */
    private record Streaming(Supplier<List<DeviceStream>> made) implements DeviceConverter {
        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public List<DeviceStream> streams(Device device) {
            return made.get();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage s, List<DeviceStream> streams, TensorBuffers buffers) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void beginsWithCpu() throws RejectedMessageException {
        assertThat(registry.forSending(Device.CPU)).isInstanceOf(CpuConverter.class);
        assertThat(registry.forReceiving(Device.parse("cpu:0"))).isInstanceOf(CpuConverter.class);
        assertThat(registry.types()).containsOnlyKeys("cpu").containsEntry("cpu", "");
    }

    @Test
    void refusesUnexpectedDeviceTypes() {
        assertThatThrownBy(() -> registry.forSending(cuda))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessage("Attempting to send a Tensor with unexpected device type cuda");
        assertThatThrownBy(() -> registry.forReceiving(cuda))
                .hasMessage("Attempting to receive a Tensor with unexpected device type cuda");
    }

    @Test
    void saysWhyADeviceIsUnavailable() {
        registry.register("cuda", new Named(Optional.of("no driver")));
        assertThatThrownBy(() -> registry.forSending(cuda))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE))
                .hasMessageContaining("no driver");
        assertThat(registry.types()).containsEntry("cuda", "no driver");
    }

    @Test
    void givesWhatAConverterThrowsACodeAndItsText() {
        registry.register("cuda", new Named(Optional.empty()));
        assertThatThrownBy(() -> registry.forReceiving(cuda).allocateForReceiving(null, cuda, List.of()))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST))
                .hasMessageContaining("the converter for cuda")
                .hasMessageContaining("allocateForReceiving");
    }

    @Test
    void refusesStreamsThatAreNone() {
        DeviceStream elsewhere = () -> Device.parse("cuda:7");
        Map<String, Supplier<List<DeviceStream>>> wrong = Map.of(
                "returned null from streams", () -> null,
                "NullPointerException", () -> java.util.Collections.singletonList(null),
                "expected streams of cuda:1, found one of cuda:7", () -> List.of(elsewhere),
                "no driver",
                        () -> {
                            throw new LinkageError("no driver");
                        });
        wrong.forEach((text, streams) -> {
            registry.register("cuda", new Streaming(streams));
            assertThatThrownBy(() -> registry.forSending(cuda).streams(cuda))
                    .isInstanceOfSatisfying(
                            RejectedMessageException.class,
                            e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_LOST))
                    .hasMessageContaining("the converter for cuda")
                    .hasMessageContaining(text);
        });
    }

    @Test
    void theLastRegistrationWinsAndItsRemovalRestoresNone() throws RejectedMessageException {
        DeviceConverter first = new Named(Optional.empty());
        DeviceConverter second = new Named(Optional.empty());
        assertThat(registry.register("cuda", first)).isEmpty();
        assertThat(registry.register("cuda", second).orElseThrow()).isSameAs(first);
        registry.remove("cuda", first); // equal to the second, and not it
        assertThat(registry.find("cuda").orElseThrow()).isSameAs(second);
        registry.remove("cuda", second);
        assertThat(registry.find("cuda")).isEmpty();
    }

    @Test
    void refusesTypesThatAreNone() {
        assertThatThrownBy(() -> registry.register("CUDA!", new Named(Optional.empty())))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
