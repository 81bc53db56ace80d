package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SparseTensorTest {

    private static final Tensor INDICES = dense(DType.INT64, 2, 3);
    private static final Tensor VALUES = dense(DType.FLOAT32, 3, 5);
    private static final SparseTensor SPARSE = new SparseTensor(INDICES, VALUES, new long[] {2, 3, 5}, true);

    private static Tensor dense(DType dtype, long... sizes) {
        return Tensor.contiguous(dtype, sizes, new Bytes(dtype.sizeBytes() * Tensor.elementCount(sizes)));
    }

    /** Only a size: nothing here reads elements. */
    private record Bytes(long sizeBytes) implements Storage {
        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long address() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {}
    }

    private static byte[] encoded(ValueEncoder encoder) {
        return encoder.value(Value.list(Value.of(VALUES), Value.of(SPARSE))).toBytes();
    }

    private static Value decoded(byte[] bytes, List<Tensor> tensors) throws RejectedMessageException {
        ValueDecoder decoder = new ValueDecoder(ByteBuffer.wrap(bytes), tensors);
        Value value = decoder.value();
        decoder.end();
        return value;
    }

    @Test
    void readsWhatItWrote() throws RejectedMessageException {
        ValueEncoder encoder = new ValueEncoder();
        byte[] bytes = encoded(encoder);
        assertThat(encoder.tensors()).containsExactly(VALUES, INDICES, VALUES);

        Value.Items list = (Value.Items) decoded(bytes, encoder.tensors());

        SparseTensor found = ((Value.OfSparse) list.values().get(1)).value();
        assertThat(found.indices()).isSameAs(INDICES);
        assertThat(found.values()).isSameAs(VALUES);
        assertThat(found.sizes()).containsExactly(2, 3, 5);
        assertThat(found.isCoalesced()).isTrue();
        assertThat(found.elementCount()).isEqualTo(3);
        assertThat(found.sparseDimensions()).isEqualTo(2);
        assertThat(found).hasToString("float32[2, 3, 5] with 3 elements@cpu");
    }

    @Test
    void refusesWhatDoesNotBelongTogether() {
        long[] sizes = {2, 3, 5};
        refused("int64 with 2 dimensions", dense(DType.INT32, 2, 3), VALUES, sizes);
        refused("int64 with 2 dimensions", dense(DType.INT64, 6), VALUES, sizes);
        refused("as many sparse ones as its indices have rows", dense(DType.INT64, 4, 3), VALUES, sizes);
        refused("must be 0 or more", INDICES, VALUES, new long[] {2, -3, 5});
        refused("less than 2^63", INDICES, VALUES, new long[] {1L << 40, 1L << 40, 5});
        refused("values", dense(DType.INT64, 2, 4), VALUES, sizes);
        refused("values", INDICES, dense(DType.FLOAT32, 3, 4), sizes);
        refused("values", INDICES, dense(DType.FLOAT32, 3), sizes);
        refused("values", INDICES, dense(DType.FLOAT32), sizes);
    }

    private static void refused(String why, Tensor indices, Tensor values, long[] sizes) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SparseTensor(indices, values, sizes, false))
                .withMessageContaining(why);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void refusesAPayloadThatLies(int lie) {
        byte[] bytes = new ValueEncoder().value(Value.of(SPARSE)).toBytes();
        int flags = 9;
        switch (lie) {
            case 0 -> bytes[1] = 2; // an index beyond the tensors
            case 1 -> bytes[4] = (byte) 0xff;
            case 2 -> bytes[1] = 1; // the values for indices
            case 3 -> bytes[flags] = 2;
            default -> bytes[flags + 1] = 65;
        }
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> decoded(bytes, List.of(INDICES, VALUES)))
                .extracting(RejectedMessageException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
    }

    @Test
    void survivesCutAndFlippedBytes() {
        byte[] bytes = encoded(new ValueEncoder());
        List<Tensor> tensors = List.of(VALUES, INDICES, VALUES);
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThatExceptionOfType(RejectedMessageException.class).isThrownBy(() -> decoded(cut, tensors));
        }
        long seed = Long.getLong("waybill.seed", 20260114);
        Random random = new Random(seed);
        for (int i = 0; i < 10_000; i++) {
            byte[] flipped = bytes.clone();
            flipped[random.nextInt(flipped.length)] ^= (byte) (1 << random.nextInt(8));
            try {
                assertThat(decoded(flipped, tensors)).isNotNull();
            } catch (RejectedMessageException e) {
                assertThat(e.code()).as("seed %d, round %d", seed, i).isEqualTo(ErrorCode.MALFORMED_BODY);
            }
        }
    }
}
