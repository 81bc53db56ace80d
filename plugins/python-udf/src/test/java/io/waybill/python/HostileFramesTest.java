package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.HandleTable;
import io.waybill.python.wire.Hello;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SegmentParts;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.core.TestBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Frames that are cut off or lie: each is a violation of the protocol, or harmless; none allocates more than it brings. */
class HostileFramesTest {

    private static final int RUNS = 30_000;
    private static final long[] LIES = {-1, 0, 1, 255, 1024, 1025, 1 << 20, Integer.MAX_VALUE, Long.MIN_VALUE, 1L << 34
    };

    private final TestBuffers memory = new TestBuffers();

    @Test
    void takeNoMoreMemoryThanTheyBring() throws Exception {
        byte[] valid = call();
        long[] allocated = new long[1];
        TensorBuffers counted = size -> {
            allocated[0] += size;
            assertThat(allocated[0]).as("bytes for tensors of a frame").isLessThanOrEqualTo(valid.length + 16);
            return memory.allocate(size);
        };
        List<String> refused = new ArrayList<>();
        for (long seed = 0; seed < RUNS; seed++) {
            byte[] body = changed(valid, new Random(seed));
            allocated[0] = 0;
            try {
                read(body, counted);
            } catch (ProtocolException | RejectedMessageException e) {
                refused.add(e.getMessage());
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e, e);
            }
            assertThat(memory.live())
                    .as("storages that are left by seed %d", seed)
                    .isZero();
        }
        assertThat(refused).hasSizeBetween(RUNS / 2, RUNS - 1);
    }

    @Test
    void doNotShareBytesBetweenStorages() throws Exception {
        byte[] body = call();
        ByteBuffer storages = ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN);
        int table = 24 + 3 + 12;
        for (int i = 0; i < 2; i++) { // both are the whole body
            storages.putLong(table + 24 * i, body.length).putLong(table + 24 * i + 8, 0);
        }
        assertThat(refusal(body)).contains("of which 0 are in no other storage");
    }

    @Test
    void areRefusedWhereverTheyAreCutOff() throws Exception {
        byte[] whole = call();
        for (int length = 0; length < whole.length; length++) {
            assertThat(refusal(Arrays.copyOf(whole, length)))
                    .as("%d bytes of %d", length, whole.length)
                    .isNotEmpty();
        }
        byte[] hello = new ValueEncoder()
                .value(new Value.Dict(TestProcess.hello("py0")))
                .toBytes();
        for (int length = 0; length < hello.length; length++) {
            SocketFrame cut = frame(SocketFrame.Kind.HELLO, Arrays.copyOf(hello, length));
            assertThatThrownBy(() -> Hello.of(cut)).isInstanceOf(ProtocolException.class);
        }
    }

    private String refusal(byte[] body) throws IOException, RejectedMessageException {
        try {
            read(body, memory);
            return "";
        } catch (ProtocolException e) {
            return e.getMessage();
        } finally {
            assertThat(memory.live()).isZero();
        }
    }

    private static SocketFrame frame(SocketFrame.Kind kind, byte[] body) {
        return new SocketFrame(kind, 1, ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    }

    private static void read(byte[] body, TensorBuffers buffers) throws IOException, RejectedMessageException {
        SocketFrame frame = frame(SocketFrame.Kind.CALL, body);
        CallFrame.ofCall(frame);
        try (ProcessMessage message = CallFrame.message(
                frame, new CallFrame.Shared(null, new SegmentParts(false), new HandleTable(), buffers))) {
            Invocation.decode(message.payload(), message.tensors(), message.references());
        }
    }

    /** Returns the body of a call with two tensors. */
    private byte[] call() throws Exception {
        ValueEncoder encoder = new ValueEncoder();
        List<Value> arguments = new ArrayList<>(List.of(Value.of("text")));
        List<Storage> storages = new ArrayList<>();
        for (int i = 1; i <= 2; i++) {
            Storage storage = memory.allocate(24L * i);
            storages.add(storage);
            arguments.add(Value.of(new Tensor(DType.FLOAT64, new long[] {3, i}, new long[] {i, 1}, 0, false, storage)));
        }
        new Invocation("math:fsum", arguments, Map.of("key", Value.of(5))).encode(encoder);
        ByteBuffer frame = new CallFrame(MessageType.PYTHON_CALL.code(), 0, 0, 0, 0, "two")
                .toCall(
                        1,
                        new CallFrame.Shared(null, new SegmentParts(false), new HandleTable(), memory),
                        ByteBuffer.wrap(encoder.toBytes()),
                        encoder.tensors(),
                        List.of());
        storages.forEach(Storage::release);
        byte[] body = new byte[frame.remaining() - SocketFrame.HEAD];
        frame.get(SocketFrame.HEAD, body);
        return body;
    }

    private static byte[] changed(byte[] valid, Random random) {
        byte[] body = random.nextInt(10) == 0 ? Arrays.copyOf(valid, random.nextInt(valid.length)) : valid.clone();
        ByteBuffer bytes = ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = random.nextInt(4); i >= 0 && body.length >= Long.BYTES; i--) {
            int at = random.nextInt(body.length - Long.BYTES + 1);
            long lie = LIES[random.nextInt(LIES.length)];
            switch (random.nextInt(4)) {
                case 0 -> bytes.put(at, (byte) random.nextInt());
                case 1 -> bytes.putShort(at, (short) lie);
                case 2 -> bytes.putInt(at, (int) lie);
                default -> bytes.putLong(at, lie);
            }
        }
        return body;
    }
}
