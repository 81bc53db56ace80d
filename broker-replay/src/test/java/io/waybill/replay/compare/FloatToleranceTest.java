package io.waybill.replay.compare;

import static io.waybill.replay.compare.Responses.dict;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.BufferStorage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Numbers may lie apart as {@code torch.allclose} lets them. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class FloatToleranceTest {

    private static final double NAN = Double.NaN;
    private static final double INFINITY = Double.POSITIVE_INFINITY;

    private static Optional<String> difference(Value recorded, Value replayed) {
        return ContentComparison.within(new FloatTolerance(0.1, 0.01))
                .firstDifference(Responses.of(recorded), Responses.of(replayed));
    }

    @Test
    void allowsRelativeToWhatIsOnRecord() {
        FloatTolerance tolerance = new FloatTolerance(0.1, 0);
        assertThat(tolerance.isClose(10, 11)).isTrue();
        assertThat(tolerance.isClose(10, 11.1)).isFalse();
        assertThat(tolerance.isClose(11.1, 10)).isTrue();
        assertThat(tolerance.isClose(-10, -11)).isTrue();
        assertThat(tolerance.isClose(0, 1e-300)).isFalse();
        assertThat(new FloatTolerance(0, 0.5).isClose(0, -0.5)).isTrue();
    }

    @Test
    void takesNaNForNaNAndAnInfinityForItselfAlone() {
        FloatTolerance wide = new FloatTolerance(1, 1e300);
        assertThat(wide.isClose(NAN, NAN)).isTrue();
        assertThat(wide.isClose(NAN, 1)).isFalse();
        assertThat(wide.isClose(1, NAN)).isFalse();
        assertThat(wide.isClose(INFINITY, INFINITY)).isTrue();
        assertThat(wide.isClose(INFINITY, -INFINITY)).isFalse();
        assertThat(wide.isClose(INFINITY, 1)).isFalse();
        assertThat(wide.isClose(1, INFINITY)).isFalse();
        assertThat(new FloatTolerance(0, 0).isClose(0.0, -0.0)).isTrue();
    }

    @Test
    void measuresComplexNumbersByTheirDistance() {
        FloatTolerance tolerance = new FloatTolerance(0, 5);
        assertThat(tolerance.isClose(0, 0, 3, 4)).isTrue();
        assertThat(tolerance.isClose(0, 0, 3, 4.1)).isFalse();
        assertThat(tolerance.isClose(NAN, 0, 0, NAN)).isTrue();
        assertThat(tolerance.isClose(INFINITY, 1, INFINITY, 1)).isTrue();
        assertThat(tolerance.isClose(INFINITY, 1, INFINITY, 2)).isFalse();
    }

    @Test
    void takesAComplexNaNForNoNumber() {
        FloatTolerance wide = new FloatTolerance(1, 1e300);
        double[][] notNumbers = {{NAN, 0}, {0, NAN}, {NAN, NAN}, {INFINITY, NAN}};
        double[][] numbers = {{0, 0}, {3, 4}, {1e300, -1e300}, {INFINITY, 0}};
        for (double[] one : notNumbers) {
            for (double[] other : numbers) {
                assertThat(wide.isClose(one[0], one[1], other[0], other[1]))
                        .as("recorded %s, replayed %s", Arrays.toString(one), Arrays.toString(other))
                        .isFalse();
                assertThat(wide.isClose(other[0], other[1], one[0], one[1]))
                        .as("recorded %s, replayed %s", Arrays.toString(other), Arrays.toString(one))
                        .isFalse();
            }
        }
    }

    @Test
    void refusesWhatIsNoTolerance() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new FloatTolerance(-1, 0))
                .withMessage("rtol must be a finite number from 0 on: -1.0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new FloatTolerance(0, NAN))
                .withMessageContaining("atol");
    }

    @Test
    void allowsFloatsInValuesAndNothingElse() {
        assertThat(difference(dict("loss", Value.of(10.0)), dict("loss", Value.of(10.5))))
                .isEmpty();
        assertThat(difference(dict("loss", Value.of(10.0)), dict("loss", Value.of(12.0))))
                .contains("reply.loss: recorded 10.0, replayed 12.0");
        assertThat(difference(new Value.Complex(1, 1), new Value.Complex(1.05, 1)))
                .isEmpty();
        assertThat(difference(Value.of(100), Value.of(101))).contains("reply: recorded 100, replayed 101");
        assertThat(difference(Value.of(1.0), Value.of(1)))
                .contains("reply: recorded the float 1.0, replayed the int 1");
    }

    @Test
    void countsOnlyElementsThatLieTooFar() {
        Tensor recorded = BufferStorage.floats(new long[] {4}, 1, 2, Float.NaN, 10);
        assertThat(difference(
                        Value.of(recorded), Value.of(BufferStorage.floats(new long[] {4}, 1.05f, 2, Float.NaN, 9.5f))))
                .isEmpty();
        assertThat(difference(
                        Value.of(recorded), Value.of(BufferStorage.floats(new long[] {4}, 1.05f, 3, Float.NaN, 20))))
                .contains("reply: float32[4] at [1]: recorded 2.0, replayed 3.0 (differs in 2 of 4 elements)");
    }

    @Test
    void readsHalvesAndComplexElements() {
        // 1.0 and the next number after it
        assertThat(difference(element(DType.FLOAT16, 0x3c00), element(DType.FLOAT16, 0x3c01)))
                .isEmpty();
        assertThat(difference(element(DType.FLOAT16, 0x3c00), element(DType.FLOAT16, 0x4000)))
                .contains("reply: float16[]: recorded 1.0, replayed 2.0 (differs in 1 of 1 elements)");
        assertThat(difference(element(DType.BFLOAT16, 0x3f80), element(DType.BFLOAT16, 0x3f81)))
                .isEmpty();
        assertThat(difference(element(DType.COMPLEX64, 0x3f800000), element(DType.COMPLEX64, 0x3f800001)))
                .isEmpty();
    }

    @Test
    void comparesIntegersAndEightBitFloatsBitForBit() {
        assertThat(difference(element(DType.INT64, 1000), element(DType.INT64, 1001)))
                .contains("reply: int64[]: recorded 1000, replayed 1001 (differs in 1 of 1 elements)");
        assertThat(difference(element(DType.FLOAT8_E5M2, 0x3c), element(DType.FLOAT8_E5M2, 0x3d)))
                .contains("reply: float8_e5m2[]: recorded 0x3c, replayed 0x3d (differs in 1 of 1 elements)");
        assertThat(difference(element(DType.BOOL, 1), element(DType.BOOL, 0)))
                .contains("reply: bool[]: recorded True, replayed False (differs in 1 of 1 elements)");
    }

    private static Value element(DType dtype, long bits) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(0, bits);
        return Value.of(Tensor.contiguous(dtype, new long[0], new BufferStorage(bytes)));
    }
}
