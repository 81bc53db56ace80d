package io.waybill.replay.compare;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.BufferStorage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Elements are compared bit for bit, wherever they lie. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TensorComparisonTest {

    private static final long ROW_STEP_BYTES = 3L << 30;
    private static final TensorComparison EXACT = new TensorComparison(Closeness.NONE);

    private static String difference(Tensor recorded, Tensor replayed) {
        return EXACT.difference("t", recorded, replayed).orElse("");
    }

    /** Two rows of three columns that lie apart in their storage, the columns in reverse. */
    private static Tensor scattered(DType dtype, BufferStorage storage) {
        return new Tensor(dtype, new long[] {2, 3}, new long[] {7, -2}, 5, false, storage);
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void findsOneBitOfOneElementOfEveryType(DType dtype) {
        int size = dtype.sizeBytes();
        BufferStorage bytes = BufferStorage.counting(13 * size);
        BufferStorage others = BufferStorage.counting(13 * size);
        assertThat(difference(scattered(dtype, bytes), scattered(dtype, others)))
                .isEmpty();
        int last = (5 + 7 - 4) * size; // of the element at [1, 2]
        others.buffer().put(last, (byte) (others.buffer().get(last) ^ 1));
        assertThat(difference(scattered(dtype, bytes), scattered(dtype, others)))
                .startsWith("t: " + dtype.torchName() + "[2, 3] at [1, 2]: recorded ")
                .endsWith(" (differs in 1 of 6 elements)");
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void comparesNothingBetweenTheElements(DType dtype) {
        int size = dtype.sizeBytes();
        BufferStorage others = BufferStorage.counting(13 * size);
        for (int position : new int[] {0, 2, 4, 6, 7, 9, 11}) {
            others.buffer().put(position * size, (byte) -1);
        }
        assertThat(difference(scattered(dtype, BufferStorage.counting(13 * size)), scattered(dtype, others)))
                .isEmpty();
    }

    @Test
    void comparesElementsThatLieInDifferentOrders() {
        Tensor rows = BufferStorage.floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 6);
        Tensor columns = BufferStorage.floats(new long[] {6}, 1, 4, 2, 5, 3, 6);
        Tensor transposed =
                new Tensor(DType.FLOAT32, new long[] {2, 3}, new long[] {1, 2}, 0, false, columns.storage());
        assertThat(difference(rows, transposed)).isEmpty();
        Tensor others = BufferStorage.floats(new long[] {6}, 1, 4, 2, 7, 3, 8);
        assertThat(difference(
                        rows,
                        new Tensor(DType.FLOAT32, new long[] {2, 3}, new long[] {1, 2}, 0, false, others.storage())))
                .isEqualTo("t: float32[2, 3] at [1, 1]: recorded 5.0, replayed 7.0 (differs in 2 of 6 elements)");
    }

    @Test
    void comparesElementsThatShareOnePlace() {
        Tensor one = BufferStorage.floats(new long[] {1}, 2);
        Tensor expanded = new Tensor(DType.FLOAT32, new long[] {3, 2}, new long[] {0, 0}, 0, false, one.storage());
        assertThat(difference(expanded, BufferStorage.floats(new long[] {3, 2}, 2, 2, 2, 2, 2, 2)))
                .isEmpty();
        assertThat(difference(expanded, BufferStorage.floats(new long[] {3, 2}, 2, 2, 2, 3, 2, 3)))
                .isEqualTo("t: float32[3, 2] at [1, 1]: recorded 2.0, replayed 3.0 (differs in 2 of 6 elements)");
    }

    @Test
    void comparesEmptyTensorsAndScalars() {
        Tensor empty = BufferStorage.floats(new long[] {0, 3});
        assertThat(difference(empty, BufferStorage.floats(new long[] {0, 3}))).isEmpty();
        assertThat(difference(empty, BufferStorage.floats(new long[] {3, 0})))
                .isEqualTo("t: recorded float32[0, 3], replayed float32[3, 0]");
        assertThat(difference(BufferStorage.floats(new long[0], 1), BufferStorage.floats(new long[0], 2)))
                .isEqualTo("t: float32[]: recorded 1.0, replayed 2.0 (differs in 1 of 1 elements)");
    }

    @Test
    void comparesWhatATensorIsBeforeItsElements() {
        Tensor floats = BufferStorage.floats(new long[] {2}, 1, 2);
        Tensor ints = Tensor.contiguous(DType.INT32, new long[] {2}, floats.storage());
        assertThat(difference(floats, ints)).isEqualTo("t: recorded float32[2], replayed int32[2]");
        Tensor withGradient = new Tensor(DType.FLOAT32, new long[] {2}, new long[] {1}, 0, true, floats.storage());
        assertThat(difference(floats, withGradient)).isEqualTo("t: requires_grad recorded false, replayed true");
    }

    @Test
    void showsBitsOfWhatReadsTheSame() {
        assertThat(difference(bits(0x7fc00000), bits(0x7fc00001)))
                .isEqualTo("t: float32[]: recorded NaN (bits 0x7fc00000), replayed NaN (bits 0x7fc00001) (differs in 1"
                        + " of 1 elements)");
        assertThat(difference(BufferStorage.floats(new long[0], 0f), BufferStorage.floats(new long[0], -0f)))
                .isEqualTo("t: float32[]: recorded 0.0, replayed -0.0 (differs in 1 of 1 elements)");
        assertThat(difference(bits(0x7fc00000), bits(0x7fc00000))).isEmpty();
    }

    @Test
    void showsComplexElementsAsPyTorchDoes() {
        assertThat(difference(complex(1.5f, 2), complex(1.5f, -2)))
                .isEqualTo("t: complex64[]: recorded 1.5+2.0j, replayed 1.5-2.0j (differs in 1 of 1 elements)");
    }

    private static Tensor complex(float real, float imaginary) {
        Tensor parts = BufferStorage.floats(new long[] {2}, real, imaginary);
        return Tensor.contiguous(DType.COMPLEX64, new long[0], parts.storage());
    }

    private static Tensor bits(int bits) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(Integer.BYTES).order(ByteOrder.nativeOrder());
        bytes.putInt(0, bits);
        return Tensor.contiguous(DType.FLOAT32, new long[0], new BufferStorage(bytes));
    }

    @Test
    void findsTheOneByteInAStorageOfGibibytes() {
        Tensor zeros = huge(-1);
        assertThat(difference(zeros, huge(-1))).isEmpty();
        assertThat(difference(zeros, huge(2 * ROW_STEP_BYTES + 123_456 * Long.BYTES)))
                .isEqualTo(
                        "t: int64[3, 200000] at [2, 123456]: recorded 0, replayed 1 (differs in 1 of 600000 elements)");
    }

    /** Three rows of 1.6 MB, each 3 GiB behind the one before. */
    private static Tensor huge(long odd) {
        HugeStorage storage = new HugeStorage(3 * ROW_STEP_BYTES, odd);
        return new Tensor(
                DType.INT64, new long[] {3, 200_000}, new long[] {ROW_STEP_BYTES / Long.BYTES, 1}, 0, false, storage);
    }
}
