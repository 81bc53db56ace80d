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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A converter that leaves while messages use it. */
@Timeout(300)
class ReplacedConverterTest {

    private static final Device TOY = Device.parse("toy:0");
    private static final Duration LONG = Duration.ofMinutes(1);

    private final DeviceRegistry registry = new DeviceRegistry(Host.real().threads());
    private final DeviceConverter first = new Toy("first");
    private final DeviceConverter second = new Toy("second");

    /** A converter that says which one it is. */
    private record Toy(String name) implements DeviceConverter {
        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public List<DeviceStream> streams(Device device) throws RejectedMessageException {
            throw new RejectedMessageException(io.waybill.api.ErrorCode.REFUSED, name);
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

    private static String name(DeviceConverter guarded) {
        try {
            guarded.streams(TOY);
            return "none";
        } catch (RejectedMessageException e) {
            return e.getMessage();
        }
    }

    private CompletableFuture<Integer> removing() {
        return CompletableFuture.supplyAsync(() -> registry.remove("toy", first, LONG));
    }

    private CompletableFuture<DeviceConverter> waitingRequest() {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return registry.forReceiving(TOY);
            } catch (RejectedMessageException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void aMessageEndsWithTheConverterThatItBeganWith() throws Exception {
        registry.register("toy", first);
        DeviceConverter request = registry.forReceiving(TOY);
        registry.replacing("toy");
        CompletableFuture<Integer> removing = removing();
        Waits.until("it receives no requests", this::isLeaving);
        CompletableFuture<DeviceConverter> next = waitingRequest();
        DeviceConverter response = registry.forSending(TOY);
        assertThat(name(response)).as("of the response").isEqualTo("first");
        DeviceConverter nested = registry.forResponse(TOY);
        assertThat(name(nested)).as("of a response that the handler waits for").isEqualTo("first");
        registry.sent(nested);
        assertThat(removing).isNotDone();
        registry.received(request);
        Waits.until("it is out of the table", () -> registry.find("toy").isEmpty());
        assertThat(removing).as("while a response is sent").isNotDone();
        registry.sent(response);
        assertThat(removing.get()).as("messages that still use it").isZero();
        assertThat(next).as("a request while there is none").isNotDone();
        registry.register("toy", second);
        assertThat(name(next.get())).isEqualTo("second");
        registry.replaced("toy");
        registry.received(next.get());
        assertThat(registry.remove("toy", second, LONG)).isZero();
    }

    /** Returns whether a request would wait. */
    private boolean isLeaving() {
        registry.replaced("toy"); // instead it is refused
        try {
            registry.received(registry.forReceiving(TOY));
            return false;
        } catch (RejectedMessageException e) {
            return true;
        } finally {
            registry.replacing("toy");
        }
    }

    @Test
    void aWaitEndsWhenNoOtherConverterCame() throws Exception {
        registry.register("toy", first);
        registry.replacing("toy");
        assertThat(registry.remove("toy", first, LONG)).isZero();
        CompletableFuture<DeviceConverter> sending = CompletableFuture.supplyAsync(() -> {
            try {
                return registry.forSending(TOY);
            } catch (RejectedMessageException e) {
                throw new IllegalStateException(e.getMessage());
            }
        });
        registry.replaced("toy");
        assertThatThrownBy(sending::get)
                .hasMessageContaining("Attempting to send a Tensor with unexpected device type toy");
    }

    @Test
    void noMessageIsRefusedAtTheMomentAtWhichTheNextConverterIsThere() throws Exception {
        registry.register("toy", first);
        AtomicBoolean ends = new AtomicBoolean();
        List<CompletableFuture<Void>> senders = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            senders.add(CompletableFuture.runAsync(
                    () -> {
                        while (!ends.get()) {
                            send();
                        }
                    },
                    each -> new Thread(each).start()));
        }
        DeviceConverter current = first;
        for (int i = 0; i < 20_000 && senders.stream().noneMatch(CompletableFuture::isDone); i++) {
            DeviceConverter next = new Toy("next");
            registry.replacing("toy");
            registry.remove("toy", current, LONG);
            registry.register("toy", next);
            registry.replaced("toy");
            current = next;
        }
        ends.set(true);
        CompletableFuture.allOf(senders.toArray(CompletableFuture[]::new)).get();
    }

    private void send() {
        try {
            registry.sent(registry.forSending(TOY));
        } catch (RejectedMessageException e) {
            throw new IllegalStateException(e.getMessage());
        }
    }

    @Test
    void aConverterThatIsNotReplacedRefusesAtOnce() throws Exception {
        registry.register("toy", first);
        DeviceConverter request = registry.forReceiving(TOY);
        assertThat(registry.remove("toy", first, Duration.ofMillis(20)))
                .as("messages that still use it")
                .isEqualTo(1);
        assertThatThrownBy(() -> registry.forReceiving(TOY)).isInstanceOf(RejectedMessageException.class);
        assertThatThrownBy(() -> registry.forResponse(TOY)).isInstanceOf(RejectedMessageException.class);
        registry.received(request);
    }

    @Test
    void oneThatAnotherHasReplacedWaitsForItsMessages() throws Exception {
        registry.register("toy", first);
        DeviceConverter request = registry.forReceiving(TOY);
        registry.register("toy", second);
        assertThat(name(registry.forSending(TOY))).isEqualTo("second");
        CompletableFuture<Integer> removing = removing();
        registry.register("other", first);
        assertThat(removing).isNotDone();
        registry.received(request);
        assertThat(removing.get()).isZero();
        assertThat(registry.find("toy")).containsSame(second);
    }
}
