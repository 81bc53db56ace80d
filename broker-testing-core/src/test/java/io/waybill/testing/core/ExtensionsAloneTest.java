package io.waybill.testing.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.ErrorCode;
import io.waybill.api.Value;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolRun;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Commands, listeners for events and converters, tested without a broker. */
@Timeout(60)
class ExtensionsAloneTest {

    /** Counts until its user leaves. */
    private static final class Counting implements ToolCommand {
        @Override
        public ToolDescription description() {
            return ToolDescription.of("count", "Counts").arguments("WORD", 0, 1).flag("--loud", "in capitals");
        }

        @Override
        public void run(ToolRun run) {
            int count = 0;
            do {
                String word = run.arguments().get(0) + (run.isSet("--loud") ? "!" : "");
                if (run.isJson()) {
                    run.json(Value.of(count++));
                } else {
                    run.line(word + " " + count++ + run.option("--unit").orElse(""));
                }
            } while (run.pause(Duration.ofSeconds(1)));
        }
    }

    @Test
    void keepsTheOutputOfACommand() {
        RecordingRun run =
                new RecordingRun("n").with("--loud").with("--unit", " s").endsAfter(2);
        new Counting().run(run);
        assertThat(run.lines()).containsExactly("n! 0 s", "n! 1 s", "n! 2 s");
        assertThat(run.isCancelled()).isTrue();
        assertThatExceptionOfType(CancellationException.class).isThrownBy(() -> run.line("more"));
        RecordingRun json = new RecordingRun("n").asJson().endsAfter(0);
        new Counting().run(json);
        assertThat(json.documents()).containsExactly(Value.of(0));
    }

    @Test
    void makesEvents() {
        AtomicInteger failures = new AtomicInteger();
        CallEvents listener = event -> {
            if (event.kind() == CallEvent.Kind.ENDED && event.error() != null) {
                failures.incrementAndGet();
            }
        };
        TestEvent ended = TestEvent.of(CallEvent.Kind.ENDED, 7, "text.count", 1_000);
        listener.onEvent(ended);
        listener.onEvent(ended.failed(ErrorCode.TIMED_OUT));
        assertThat(failures).hasValue(1);
    }

    /** Copies, and releases what it does not return. */
    private static final class Copying implements DeviceConverter {
        @Override
        public Optional<String> unavailable() {
            return Optional.empty();
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            int size = (int) storage.sizeBytes();
            Storage copy = buffers.allocate(size);
            copy.bytes(0, size).put(storage.bytes(0, size));
            return Optional.of(copy);
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            return arrived.retain();
        }
    }

    @Test
    void countsWhatAConverterAllocates() throws Exception {
        TestBuffers buffers = new TestBuffers();
        DeviceConverter converter = new Copying();
        Storage sent = converter
                .prepareForSending(BufferStorage.counting(16), List.of(), buffers)
                .orElseThrow();
        assertThat(sent.bytes(0, 16).get(15)).isEqualTo((byte) 15);
        Storage received = converter.allocateForReceiving(sent, Device.CPU, List.of());
        sent.release();
        assertThat(buffers.live()).isEqualTo(1);
        received.release();
        assertThat(buffers.live()).isZero();
        assertThatIllegalStateException().isThrownBy(received::release).withMessageContaining("too often");
        assertThatIllegalStateException().isThrownBy(() -> received.bytes(0, 1));
    }
}
