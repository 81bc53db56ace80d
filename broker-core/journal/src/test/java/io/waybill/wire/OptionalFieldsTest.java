package io.waybill.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.testing.core.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The optional fields of records, and the records that have none. */
@Timeout(60)
class OptionalFieldsTest {

    private static final byte[] VALUES = "plain".getBytes(StandardCharsets.UTF_8);
    private static final byte[] REFERENCES = {9, 9, 9, 1, 0, 0, 0, 11, 0, 0, 0};
    private static final byte[] DIGEST = new byte[OptionalFields.DIGEST_LENGTH];
    private static final CallContext CONTEXT = CallContext.EMPTY.with("a", "one");
    private static final int UNKNOWN = 0x1234;
    private static final int ROUNDS = 100_000;

    static {
        Arrays.fill(DIGEST, (byte) 0xc4);
    }

    private static final OptionalFields ALL =
            OptionalFields.NONE.withStreamEnd(7).withChainDigest(DIGEST).with(UNKNOWN, new byte[] {1, 2, 3});

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);

    private void request(CallContext context, OptionalFields fields, byte[] references) {
        int block = MessageBuffer.contextLength(context);
        int length = VALUES.length + block + fields.length() + references.length;
        buffer.begin(MessageType.NAMED_CALL, 7, 1, 2, length, 0).flags(0).payload(VALUES, 0, VALUES.length);
        if (block > 0) {
            buffer.context(context, 0, VALUES.length);
        }
        end(VALUES.length + block, fields, references);
    }

    private void response(Observations observations, OptionalFields fields, byte[] references) {
        byte[] observed = observations.encode();
        int length = VALUES.length + observed.length + fields.length() + references.length;
        buffer.begin(MessageType.NAMED_RET, 7, 2, 1, length, 0).flags(0).payload(VALUES, 0, VALUES.length);
        if (observed.length > 0) {
            buffer.observations(observed, VALUES.length);
        }
        end(VALUES.length + observed.length, fields, references);
    }

    private void end(int offset, OptionalFields fields, byte[] references) {
        buffer.optionalFields(fields, offset);
        if (references.length > 0) {
            buffer.memory().putBytes(Envelope.HEADER_LENGTH + offset + fields.length(), references);
            buffer.addFlag(Envelope.REFERENCES);
        }
        buffer.seal(0);
    }

    private String bytes() {
        byte[] record = new byte[buffer.length()];
        buffer.memory().getBytes(0, record);
        return HexFormat.of().formatHex(record);
    }

    /** Bytes that a build without optional fields wrote. */
    @Test
    void aPlainRequestKeepsItsBytes() {
        buffer.begin(MessageType.NAMED_CALL, MessageId.of(3, 7), 3, 4, VALUES.length, 0)
                .flags(0)
                .payload(VALUES, 0, VALUES.length)
                .optionalFields(OptionalFields.NONE, VALUES.length)
                .deadlineNs(1_000)
                .sentNs(2_000)
                .dueNs(3_000)
                .epoch(5)
                .seal(9);

        assertThat(bytes())
                .as("a plain request as earlier builds wrote it")
                .isEqualTo("aa0308f1574201000900000000000000070000000000030003000400400100000500000000000000"
                        + "e803000000000000d007000000000000ffffffffffffffff00000000000000000000000000000000"
                        + "0000000000000000b80b0000000000000000000005000000706c61696e");
    }

    /** Bytes that a build without optional fields wrote. */
    @Test
    void aPlainResponseKeepsItsBytes() {
        buffer.begin(MessageType.NAMED_RET, MessageId.of(3, 7), 4, 3, VALUES.length, 0)
                .flags(0)
                .payload(VALUES, 0, VALUES.length)
                .begunNs(2_500)
                .sentNs(2_600)
                .responder(0x1122334455667788L)
                .handlerSequence(6)
                .seal(8);

        assertThat(bytes())
                .as("a plain response as earlier builds wrote it")
                .isEqualTo("41f8227a574201000800000000000000070000000000030004000300410200000500000000000000"
                        + "c409000000000000280a000000000000ffffffffffffffff88776655443322110000000000000000"
                        + "00000000000000000600000000000000" + "0000000000000000706c61696e");
    }

    @Test
    void standBesideEachOtherTrailer() throws Exception {
        Observations observed = new Observations(List.of(new Observation(Observation.Kind.SEED, 5)), false);
        for (byte[] references : List.of(new byte[0], REFERENCES)) {
            for (OptionalFields fields : List.of(OptionalFields.NONE, ALL)) {
                for (CallContext context : List.of(CallContext.EMPTY, CONTEXT)) {
                    request(context, fields, references);
                    requireRead(fields, references);
                    assertThat(view.context()).isEqualTo(context);
                }
                for (Observations each : List.of(Observations.NONE, observed)) {
                    response(each, fields, references);
                    requireRead(fields, references);
                    assertThat(view.observations()).isEqualTo(each);
                }
            }
        }
    }

    private void requireRead(OptionalFields fields, byte[] references) throws MalformedRecordException {
        view.check();
        assertThat(view.hasOptionalFields()).isEqualTo(!fields.isEmpty());
        assertThat(view.optionalFields()).isEqualTo(fields);
        assertThat(view.copyPayload())
                .as("the values without what follows them")
                .isEqualTo(VALUES);
        assertThat(view.payload()).isEqualTo(ByteBuffer.wrap(VALUES));
        if (references.length > 0) {
            assertThat(view.copyReferences().array()).isEqualTo(references);
        }
    }

    @Test
    void haveTheirValues() {
        assertThat(ALL.streamSequence()).hasValue(7);
        assertThat(ALL.isStreamEnd()).isTrue();
        assertThat(ALL.chainDigest())
                .hasValueSatisfying(digest -> assertThat(digest).isEqualTo(DIGEST));
        assertThat(ALL.unknown()).containsExactly(Map.entry(UNKNOWN, 3));
        assertThat(OptionalFields.NONE.withStreamPart(-1).streamSequence()).hasValue(-1);
        assertThat(OptionalFields.NONE.withStreamPart(-1).isStreamEnd()).isFalse();
        assertThat(OptionalFields.NONE.isStreamEnd()).isFalse();
        assertThat(OptionalFields.NONE.streamSequence()).isEmpty();
        assertThat(OptionalFields.NONE.chainDigest()).isEmpty();
        assertThatThrownBy(() -> OptionalFields.NONE.withChainDigest(new byte[31]))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void areSkippedWhenUnknown() throws Exception {
        OptionalFields later = OptionalFields.NONE.with(0xffff, new byte[3000]).with(3, new byte[0]);
        request(CONTEXT, later, REFERENCES);

        requireRead(later, REFERENCES);
        assertThat(view.optionalFields().streamSequence()).isEmpty();
    }

    /** The checksum is right, so the writer wrote it. */
    @Test
    void areRefusedWhenTheyAreNotWhole() {
        refuses(OptionalFields.NONE.with(1, new byte[8]), "field 0 of kind 1 has 8 bytes");
        refuses(OptionalFields.NONE.with(2, new byte[33]), "field 0 of kind 2 has 33 bytes");
        refuses(OptionalFields.NONE.with(0, new byte[1]), "field 0 of kind 0");
        refuses(OptionalFields.NONE.with(9, new byte[OptionalFields.MAX_LENGTH]), "from 8 to 4096 of them, these");
        int end = Envelope.HEADER_LENGTH + VALUES.length + ALL.length();
        refusesLength(end, 0);
        refusesLength(end, 7);
        refusesLength(end, ALL.length() - 1);
        refusesLength(end, ALL.length() + 1);
        refusesLength(end, ALL.length() + VALUES.length + 1);
        refusesLength(end, -1);
        refusesLength(end, Integer.MIN_VALUE);
        refusesLength(end, Integer.MAX_VALUE);
        request(CallContext.EMPTY, ALL, new byte[0]);
        buffer.memory().putShort(end - 8, (short) 4, ByteOrder.LITTLE_ENDIAN);
        refuses("found 3 of 4");
        buffer.begin(MessageType.NAMED_CALL, 7, 1, 2, 7, 0).flags(Envelope.OPTIONAL_FIELDS);
        refuses("at the end of 7 bytes");
    }

    private void refuses(OptionalFields fields, String message) {
        request(CallContext.EMPTY, fields, new byte[0]);
        refuses(message);
    }

    private void refusesLength(int end, int length) {
        request(CallContext.EMPTY, ALL, new byte[0]);
        buffer.memory().putInt(end - 4, length, ByteOrder.LITTLE_ENDIAN);
        refuses("optional fields");
    }

    private void refuses(String message) {
        buffer.seal(0);
        assertThatThrownBy(view::check)
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageContaining(message);
    }

    /** Each bit alone, and random bytes, under a right checksum: a record is refused, or read within its bounds. */
    @Test
    void areReadWithinTheirBounds() {
        SplittableRandom random = new SplittableRandom(Seeds.one(20261130));
        int refused = 0;
        request(CONTEXT, ALL, REFERENCES);
        int bits = 8 * (buffer.length() - Envelope.HEADER_LENGTH);
        for (int round = 0; round < bits + ROUNDS; round++) {
            request(CONTEXT, ALL, REFERENCES);
            if (round < bits) {
                flip(Envelope.HEADER_LENGTH + round / 8, round % 8);
            } else {
                for (int n = random.nextInt(1, 4); n > 0; n--) {
                    buffer.memory()
                            .putByte(random.nextInt(Envelope.HEADER_LENGTH, buffer.length()), (byte) random.nextInt());
                }
            }
            buffer.seal(0);
            try {
                view.check();
                view.optionalFields().unknown();
                view.context();
                view.copyPayload();
            } catch (MalformedRecordException expected) {
                refused++;
            } catch (RuntimeException e) {
                fail("round " + round + " of damaged fields", e);
            }
        }
        assertThat(refused).isGreaterThan(ROUNDS / 10);
    }

    private void flip(int at, int bit) {
        buffer.memory().putByte(at, (byte) (buffer.memory().getByte(at) ^ 1 << bit));
    }

    @Test
    void eachBitIsCoveredByTheChecksum() {
        request(CONTEXT, ALL, REFERENCES);
        for (int bit = 8 * Envelope.CHECKED_FROM; bit < 8 * buffer.length(); bit++) {
            flip(bit / 8, bit % 8);
            assertThatThrownBy(view::check)
                    .as("bit %s of a record with optional fields", bit)
                    .isInstanceOf(MalformedRecordException.class);
            flip(bit / 8, bit % 8);
        }
    }
}
