package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class InvocationTest {

    private static final Invocation DIRECT =
            new Invocation("jobs.run", List.of(Value.of(1)), Map.of("by", Value.of(2.5)));

    private static byte[] bytes(Invocation call) {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        return encoder.toBytes();
    }

    private static Invocation decoded(byte[] bytes) throws RejectedMessageException {
        return Invocation.decode(ByteBuffer.wrap(bytes), List.of());
    }

    @Test
    void readsWhatItWroteInEitherMode() throws RejectedMessageException {
        Invocation async = DIRECT.withMode(Invocation.Mode.ASYNC);

        assertThat(decoded(bytes(DIRECT))).isEqualTo(DIRECT);
        assertThat(decoded(bytes(async))).isEqualTo(async);
        assertThat(DIRECT.mode()).isEqualTo(Invocation.Mode.DIRECT);
    }

    @Test
    void saysAsyncInOneBitAndChangesNothingElse() {
        byte[] direct = bytes(DIRECT);
        byte[] async = bytes(DIRECT.withMode(Invocation.Mode.ASYNC));

        assertThat(direct[1]).isZero();
        assertThat(async[1]).isEqualTo((byte) 0x80);
        async[1] = 0;
        assertThat(async).isEqualTo(direct);
    }

    @Test
    void refusesANameThatIsTooLongInEitherMode() {
        for (int high : new int[] {0x7f, 0xff, 0x02}) {
            byte[] bytes = bytes(DIRECT);
            bytes[1] = (byte) high;
            assertThatExceptionOfType(RejectedMessageException.class)
                    .isThrownBy(() -> decoded(bytes))
                    .withMessageContaining("name has 1 to 256 bytes")
                    .extracting(RejectedMessageException::code)
                    .isEqualTo(ErrorCode.MALFORMED_BODY);
        }
    }

    @Test
    void refusesAPayloadThatEndsAnywhereBeforeItsEnd() {
        byte[] bytes = bytes(DIRECT.withMode(Invocation.Mode.ASYNC));
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = java.util.Arrays.copyOf(bytes, length);
            assertThatExceptionOfType(RejectedMessageException.class)
                    .as("cut at %s", length)
                    .isThrownBy(() -> decoded(cut));
        }
    }
}
