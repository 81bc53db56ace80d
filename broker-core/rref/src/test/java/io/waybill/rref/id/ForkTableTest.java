package io.waybill.rref.id;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.testing.core.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class ForkTableTest {

    private static final ForkData FIRST = new ForkData(1, new RRefId(0, 12), new ForkId(0, 14), 0, 3, "Tensor");
    private static final ForkData SECOND =
            new ForkData(32767, new RRefId(2, (1L << 48) - 1), new ForkId(32767, 0), 2, Integer.MAX_VALUE, "");

    @Test
    void readsWhatWasWritten() throws RejectedMessageException {
        byte[] table = ForkTable.encode(List.of(FIRST, SECOND));
        assertThat(ForkTable.decode(ByteBuffer.wrap(table))).containsExactly(FIRST, SECOND);
        assertThat(table).hasSize(29 + 6 + 29 + 8);
        assertThat(ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN).getInt(table.length - 4))
                .isEqualTo(table.length);
    }

    @Test
    void refusesEveryTruncation() {
        byte[] table = ForkTable.encode(List.of(FIRST, SECOND));
        for (int length = 0; length < table.length; length++) {
            byte[] cut = Arrays.copyOf(table, length);
            assertThatExceptionOfType(RejectedMessageException.class)
                    .as("cut to " + length)
                    .isThrownBy(() -> ForkTable.decode(ByteBuffer.wrap(cut)))
                    .matches(e -> e.code() == ErrorCode.MALFORMED_BODY);
        }
    }

    @Test
    void readsOrRefusesWhateverItIsGiven() {
        Random random = new Random(Seeds.one(7));
        byte[] table = ForkTable.encode(List.of(FIRST, SECOND));
        for (int i = 0; i < 20_000; i++) {
            byte[] wrong = table.clone();
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                wrong[random.nextInt(wrong.length)] = (byte) random.nextInt();
            }
            try {
                assertThat(ForkTable.decode(ByteBuffer.wrap(wrong))).hasSizeLessThanOrEqualTo(2);
            } catch (RejectedMessageException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.MALFORMED_BODY);
            }
        }
    }

    @Test
    void takesNoMoreThanItsLimit() {
        List<ForkData> many = Collections.nCopies(ForkTable.MAX_REFERENCES + 1, FIRST);
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ForkTable.encode(many))
                .withMessageContaining("at most 1024");
    }
}
