package io.waybill.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.testing.core.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The context of a call, as it stands in records. */
@Timeout(60)
class ContextRecordTest {

    private static final byte[] VALUES = {3, 1, 4, 1, 5};
    private static final byte[] REFERENCES = {9, 9, 9, 1, 0, 0, 0, 11, 0, 0, 0};
    private static final TraceContext TRACE = new TraceContext(0x1111, 0x2222, 0x3333, 1, "v=1");
    private static final CallContext TWO = CallContext.EMPTY.with("a", "one").with("bb", new byte[] {-1, 0});
    private static final CallContext ALL = TWO.with(TRACE);
    private static final long SPAN = 0x4444;
    private static final int ROUNDS = 40_000;

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);

    private void write(CallContext context, byte[] references) {
        int block = MessageBuffer.contextLength(context);
        int length = VALUES.length + block + references.length;
        buffer.begin(MessageType.NAMED_CALL, 7, 1, 2, length, 0).flags(0).payload(VALUES, 0, VALUES.length);
        if (block > 0) {
            buffer.context(context, SPAN, VALUES.length);
        }
        if (references.length > 0) {
            buffer.memory().putBytes(Envelope.HEADER_LENGTH + VALUES.length + block, references);
            buffer.addFlag(Envelope.REFERENCES);
        }
        buffer.seal(0);
    }

    /** Returns what a handler has: the same, in the span that the request is. */
    private static CallContext received(CallContext sent) {
        return sent.trace().map(trace -> sent.with(trace.inSpan(SPAN))).orElse(sent);
    }

    @Test
    void standsBehindTheValuesAndInFrontOfReferences() throws Exception {
        for (CallContext context : List.of(TWO, CallContext.EMPTY.with(TRACE), ALL, full())) {
            for (byte[] references : List.of(new byte[0], REFERENCES)) {
                write(context, references);
                view.check();
                assertThat(view.hasContext()).isTrue();
                assertThat(view.context()).isEqualTo(received(context));
                assertThat(view.callerSpan())
                        .isEqualTo(context.trace().map(TraceContext::spanId).orElse(0L));
                assertThat(view.copyPayload()).isEqualTo(VALUES);
                assertThat(view.payload()).isEqualTo(ByteBuffer.wrap(VALUES));
                assertThat(
                                references.length == 0
                                        ? references
                                        : view.copyReferences().array())
                        .isEqualTo(references);
            }
        }
    }

    private static CallContext full() {
        CallContext full = CallContext.EMPTY.with(new TraceContext(1, 2, 3, 3, "k=" + "v".repeat(510)));
        for (int i = 0; i < CallContext.MAX_ENTRIES - 1; i++) {
            full = full.with("key" + i + "x".repeat(100 - String.valueOf(i).length()), new byte[20]);
        }
        return full.with("rest", new byte[CallContext.MAX_BYTES - full.sizeInBytes() - 4]);
    }

    @Test
    void isNoneInOldRecords() throws Exception {
        write(CallContext.EMPTY, REFERENCES);
        view.check();
        assertThat(view.hasContext()).isFalse();
        assertThat(view.context()).isSameAs(CallContext.EMPTY);
        assertThat(view.callerSpan()).isZero();
        assertThat(view.traceHigh() | view.traceLow() | view.span()).isZero();
        assertThat(view.copyPayload()).isEqualTo(VALUES);
    }

    @Test
    void isLaidOutAsDocumented() {
        write(ALL, new byte[0]);
        ByteBuffer expected = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        expected.putLong(0x3333).put((byte) 1).putShort((short) 3).put("v=1".getBytes(StandardCharsets.US_ASCII));
        expected.put((byte) 1).put((byte) 'a').putShort((short) 3).put("one".getBytes(StandardCharsets.US_ASCII));
        expected.put((byte) 2).put(new byte[] {'b', 'b'}).putShort((short) 2).put(new byte[] {-1, 0});
        expected.putShort((short) 2)
                .putShort((short) 1)
                .putInt(expected.position() + 4)
                .flip();
        byte[] found = new byte[expected.remaining()];
        buffer.memory().getBytes(Envelope.HEADER_LENGTH + VALUES.length, found);
        assertThat(ByteBuffer.wrap(found)).isEqualTo(expected);
        assertThat(view.payloadLength()).isEqualTo(VALUES.length + found.length);
        assertThat(List.of(view.traceHigh(), view.traceLow(), view.span())).containsExactly(0x1111L, 0x2222L, SPAN);
    }

    private String problem() {
        buffer.seal(0);
        try {
            view.check();
            return "";
        } catch (MalformedRecordException e) {
            return e.getMessage();
        }
    }

    private String problemWith(CallContext context, int at, int value) {
        write(context, new byte[0]);
        buffer.memory().putByte(Envelope.HEADER_LENGTH + at, (byte) value);
        return problem();
    }

    /** The checksum is right, so its writer wrote a false value. */
    @Test
    void isRefusedWhenItLies() {
        int values = VALUES.length;
        int end = values + MessageBuffer.contextLength(ALL);
        assertThat(problemWith(ALL, 0, VALUES[0])).isEmpty();
        assertThat(problemWith(ALL, end - 4, 99)).contains("of the 41 bytes", "this one 99");
        assertThat(problemWith(ALL, end - 1, 0x80)).contains("this one -");
        assertThat(problemWith(ALL, end - 4, 7)).contains("8 to", "this one 7");
        assertThat(problemWith(ALL, end - 4, 35)).contains("within the context");
        assertThat(problemWith(ALL, end - 6, 0)).contains("if and only if", "0 traces");
        assertThat(problemWith(ALL, end - 6, 2)).contains("2 traces");
        assertThat(problemWith(TWO, values + MessageBuffer.contextLength(TWO) - 6, 1))
                .contains("1 traces");
        assertThat(problemWith(ALL, end - 8, 65)).contains("65 values");
        assertThat(problemWith(ALL, end - 8, 1)).contains("leave 7 of 36 bytes");
        assertThat(problemWith(ALL, end - 8, 3)).contains("name of value 2", "this one 0");
        assertThat(problemWith(ALL, values + 8, 4)).contains("flags up to 3, not 4");
        assertThat(problemWith(ALL, values + 9, 200)).contains("state of 200");
        assertThat(problemWith(ALL, values + 10, 3)).contains("state of 771");
        assertThat(problemWith(ALL, values + 11, 7)).contains("trace of a context is none");
        assertThat(problemWith(ALL, values + 14, 0)).contains("name of value 0", "this one 0");
        assertThat(problemWith(ALL, values + 14, 129)).contains("name of value 0", "this one 129");
        assertThat(problemWith(ALL, values + 15, ' '))
                .contains("name of value 0")
                .contains("is none");
        assertThat(problemWith(ALL, values + 15, 'c')).contains("ascend", "value 1");
        assertThat(problemWith(ALL, values + 17, 0x7f)).contains("value 0 has 32515");
        write(ALL, new byte[0]);
        buffer.memory().putLong(Envelope.HEADER_LENGTH + values, 0, ByteOrder.LITTLE_ENDIAN);
        assertThat(problem()).contains("trace of a context is none");
    }

    @Test
    void agreesWithTheHeader() {
        write(ALL, new byte[0]);
        buffer.trace(0, 0, SPAN);
        assertThat(problem()).contains("a trace id if and only if it has a span id");
        write(ALL, new byte[0]);
        buffer.trace(1, 1, 0);
        assertThat(problem()).contains("a trace id if and only if it has a span id");
        write(ALL, new byte[0]);
        buffer.trace(0, 0, 0);
        assertThat(problem()).contains("if and only if the header has one");
        write(TWO, new byte[0]);
        buffer.trace(1, 1, 1);
        assertThat(problem()).contains("if and only if the header has one");
        write(ALL, new byte[0]);
        buffer.memory().putShort(Envelope.TYPE, (short) MessageType.NAMED_RET.code(), ByteOrder.LITTLE_ENDIAN);
        assertThat(problem()).contains("this is a response");
    }

    @Test
    void isCoveredByTheChecksum() {
        write(ALL, REFERENCES);
        for (int at = 0; at < buffer.length(); at++) {
            buffer.memory().putByte(at, (byte) (buffer.memory().getByte(at) ^ 1 << at % 8));
            try {
                view.check();
                throw new AssertionError("a flipped bit in byte " + at + " is not noticed");
            } catch (MalformedRecordException e) {
                buffer.memory().putByte(at, (byte) (buffer.memory().getByte(at) ^ 1 << at % 8));
            }
        }
    }

    /** Whatever passes the check is read within the payload, and never throws. */
    @Test
    void neverLeadsOutOfThePayload() {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        int passed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            write(random.nextBoolean() ? ALL : TWO, random.nextInt(4) == 0 ? REFERENCES : new byte[0]);
            int payload = view.payloadLength();
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int at = Envelope.HEADER_LENGTH + random.nextInt(payload);
                buffer.memory().putByte(at, (byte) (random.nextBoolean() ? random.nextInt(48) : random.nextInt()));
            }
            if (random.nextInt(4) == 0) {
                buffer.flags(random.nextInt(64));
            }
            String as = "round " + round + " of seed " + seed;
            if (problem().isEmpty()) {
                passed++;
                int values = view.copyPayload().length;
                int references = view.hasReferences() ? view.copyReferences().remaining() : 0;
                CallContext context = view.context();
                view.callerSpan();
                assertThat(values + references + MessageBuffer.contextLength(context))
                        .as(as)
                        .isLessThanOrEqualTo(payload);
                assertThat(context.isEmpty()).as(as).isEqualTo(!view.hasContext());
            }
        }
        assertThat(passed).as("records that passed the check, of seed " + seed).isBetween(1, ROUNDS - 1);
    }
}
