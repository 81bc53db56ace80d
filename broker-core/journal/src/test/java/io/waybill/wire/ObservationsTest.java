package io.waybill.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageType;
import io.waybill.testing.core.Seeds;
import io.waybill.wire.Observation.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What handlers observed, as it stands in records. */
@Timeout(60)
class ObservationsTest {

    private static final byte[] VALUES = {3, 1, 4, 1, 5};
    private static final byte[] REFERENCES = {9, 9, 9, 1, 0, 0, 0, 11, 0, 0, 0};
    private static final Observation TIME = new Observation(Kind.TIME, 1_700_000_000_123_456_789L);
    private static final Observation SEED = new Observation(Kind.SEED, -42);
    private static final int ROUNDS = 20_000;

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);

    private void write(MessageType type, byte[] observed, byte[] references) {
        int length = VALUES.length + observed.length + references.length;
        buffer.begin(type, 7, 1, 2, length, 0).flags(0).payload(VALUES, 0, VALUES.length);
        if (observed.length > 0) {
            buffer.observations(observed, VALUES.length);
        }
        if (references.length > 0) {
            buffer.memory().putBytes(Envelope.HEADER_LENGTH + VALUES.length + observed.length, references);
            buffer.addFlag(Envelope.REFERENCES);
        }
        buffer.seal(0);
    }

    private static byte[] observed(Observation... seen) {
        return new Observations(List.of(seen), false).encode();
    }

    @Test
    void standBehindTheValuesAndInFrontOfReferences() throws Exception {
        for (byte[] references : List.of(new byte[0], REFERENCES)) {
            write(MessageType.NAMED_RET, observed(TIME, SEED, TIME), references);
            view.check();
            assertThat(view.hasObservations()).isTrue();
            assertThat(view.observations().seen()).containsExactly(TIME, SEED, TIME);
            assertThat(view.observations().isCut()).isFalse();
            assertThat(view.copyPayload()).isEqualTo(VALUES);
            assertThat(view.payload()).isEqualTo(ByteBuffer.wrap(VALUES));
            assertThat(
                            references.length == 0
                                    ? new byte[0]
                                    : view.copyReferences().array())
                    .isEqualTo(references);
        }
    }

    @Test
    void areNoneWithoutTheFlag() throws Exception {
        write(MessageType.NAMED_RET, Observations.NONE.encode(), new byte[0]);
        view.check();
        assertThat(view.observations()).isEqualTo(Observations.NONE);
        assertThat(view.copyPayload()).isEqualTo(VALUES);
    }

    @Test
    void sayThatThereWereMore() throws Exception {
        write(MessageType.EXCEPTION, Observations.LEFT_OUT.encode(), new byte[0]);
        view.check();
        assertThat(view.observations()).isEqualTo(Observations.LEFT_OUT);
        Observations max = new Observations(Collections.nCopies(Observations.MAX, TIME), true);
        write(MessageType.NAMED_RET, max.encode(), new byte[0]);
        view.check();
        assertThat(view.observations()).isEqualTo(max);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Observations(Collections.nCopies(Observations.MAX + 1, TIME), true));
    }

    @Test
    void areLaidOutAsDocumented() {
        byte[] bytes = new Observations(List.of(SEED), true).encode();
        ByteBuffer expected = ByteBuffer.allocate(17).order(ByteOrder.LITTLE_ENDIAN);
        expected.put((byte) 2)
                .putLong(-42)
                .putShort((short) 1)
                .putShort((short) 1)
                .putInt(17);
        assertThat(bytes).isEqualTo(expected.array());
    }

    @Test
    void areRefusedInARequest() {
        write(MessageType.NAMED_CALL, observed(TIME), new byte[0]);
        assertThatThrownBy(view::check)
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageContaining("request");
    }

    @Test
    void areDistinguishedByTheirKind() throws Exception {
        byte[] unknown = observed(TIME);
        unknown[0] = 77;
        write(MessageType.NAMED_RET, unknown, new byte[0]);
        view.check(); // who does not ask for them has the response
        assertThat(view.copyPayload()).isEqualTo(VALUES);
        assertThatThrownBy(view::observations)
                .isInstanceOf(MalformedRecordException.class)
                .hasMessageContaining("77");
    }

    private String refusal(byte[] observed, byte[] references) {
        write(MessageType.NAMED_RET, observed, references);
        try {
            view.check();
            return "";
        } catch (MalformedRecordException e) {
            return e.getMessage();
        }
    }

    private static byte[] with(byte[] observed, int fromEnd, int value) {
        byte[] lying = observed.clone();
        lying[lying.length - fromEnd] = (byte) value;
        return lying;
    }

    @Test
    void areRefusedWhenTheirLengthLies() {
        byte[] whole = observed(TIME, SEED);
        for (byte[] references : List.of(new byte[0], REFERENCES)) {
            assertThat(refusal(whole, references)).isEmpty();
            assertThat(refusal(with(whole, 4, 25), references)).contains("2 observations", "have 26", "these 25");
            assertThat(refusal(with(whole, 1, 0x80), references)).contains("these -2147483622");
            assertThat(refusal(with(whole, 8, 3), references)).contains("3 observations", "have 35");
            assertThat(refusal(with(whole, 7, 0xff), references)).contains("of at most 1024");
            assertThat(refusal(with(whole, 6, 2), references)).contains("0 or 1, and here 2");
            assertThat(refusal(Arrays.copyOfRange(whole, 18, 26), references)).contains("of the 13 bytes");
        }
        assertThat(refusal(new byte[] {1, 2}, new byte[0])).contains("of the 7 bytes");
    }

    /** Whatever passes the check is read within the payload. */
    @Test
    void neverLeadOutOfThePayload() {
        long seed = Seeds.fresh();
        Random random = new Random(seed);
        int passed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            write(MessageType.NAMED_RET, observed(TIME, SEED), random.nextBoolean() ? REFERENCES : new byte[0]);
            int payload = view.payloadLength();
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int at = Envelope.HEADER_LENGTH + payload - 1 - random.nextInt(Math.min(payload, 38));
                buffer.memory().putByte(at, (byte) (random.nextBoolean() ? random.nextInt(48) : random.nextInt()));
            }
            buffer.flags(random.nextInt(16)).seal(0);
            passed += readsWithin(payload, "round " + round + " of seed " + seed) ? 1 : 0;
        }
        assertThat(passed).as("records that passed the check, of seed " + seed).isBetween(1, ROUNDS - 1);
    }

    private boolean readsWithin(int payload, String as) {
        try {
            view.check();
        } catch (MalformedRecordException e) {
            return false;
        }
        int values = view.copyPayload().length;
        int references = view.hasReferences() ? view.copyReferences().remaining() : 0;
        assertThat(values + references).as(as).isLessThanOrEqualTo(payload);
        assertThat(view.payload().remaining()).as(as).isEqualTo(values);
        try {
            int count = view.observations().seen().size();
            assertThat(view.hasObservations() ? Observations.length(count) : 0)
                    .as(as)
                    .isEqualTo(payload - values - references);
        } catch (MalformedRecordException e) {
            assertThat(e).as(as).hasMessageContaining("no kind");
        }
        return true;
    }
}
