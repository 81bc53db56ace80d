package io.waybill.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The boundary around a converter and the storages that it makes. */
@Timeout(60)
class GuardedConverterTest {

    private static final Device TOY = Device.parse("toy:0");

    private final AtomicInteger live = new AtomicInteger();
    private final AtomicInteger found = new AtomicInteger(); // interrupts that were there before

    /** Leaves an interrupt with each of its calls, as code does that restores one. */
    private final class Careless extends DeviceMemory {

        Careless(Device device, int size) {
            super(device, size, live);
        }

        private void interrupt() {
            if (Thread.currentThread().isInterrupted()) {
                found.incrementAndGet();
            }
            Thread.currentThread().interrupt();
        }

        @Override
        public long sizeBytes() {
            interrupt();
            return super.sizeBytes();
        }

        @Override
        public Device device() {
            interrupt();
            return super.device();
        }

        @Override
        public void release() {
            interrupt();
            super.release();
        }
    }

    private final class CarelessConverter implements DeviceConverter {

        private final int size;

        CarelessConverter(int size) {
            this.size = size;
        }

        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage s, List<DeviceStream> streams, TensorBuffers buffers) {
            return Optional.empty();
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            return new Careless(target, size);
        }
    }

    /** Has a storage of eight bytes placed, on a thread of ours. Returns whether the thread had an interrupt afterwards. */
    private boolean place(GuardedConverter converter) {
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Host.real().threads().start("places", () -> {
            try {
                converter.allocateForReceiving(new Careless(Device.parse("cpu"), 8), TOY, List.of());
                interrupted.complete(Thread.currentThread().isInterrupted());
            } catch (Throwable e) {
                interrupted.completeExceptionally(
                        Thread.currentThread().isInterrupted() ? new AssertionError("an interrupt is left", e) : e);
            }
        });
        Waits.until("it is placed, or refused", interrupted::isDone);
        return interrupted.join();
    }

    private GuardedConverter guarded(int size) {
        return new GuardedConverter("toy", new CarelessConverter(size), (what, failure) -> {});
    }

    @Test
    void interruptsOfStoragesEndWithTheirCall() {
        assertThat(place(guarded(8))).as("an interrupt is left").isFalse();
        assertThat(found.get())
                .as("calls that found an interrupt of another call")
                .isZero();
    }

    @Test
    void interruptsOfARefusedStorageEndWithTheirCall() {
        assertThatThrownBy(() -> place(guarded(4)))
                .hasCauseInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("made 4 bytes of a storage of 8");
        assertThat(found.get())
                .as("calls that found an interrupt of another call")
                .isZero();
        assertThat(live.get()).as("storages but for the one that arrived").isOne();
    }
}
