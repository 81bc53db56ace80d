package io.waybill.tensor.memory;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;

/** Reads single elements of a tensor in host memory. Slow, and meant for the few elements that are shown. */
public final class Element {

    private static final int EXPONENT_BITS_HALF = 5;
    private static final int FRACTION_BITS_HALF = 10;

    private Element() {}

    /**
     * Returns the position of an element, in elements from the storage's start.
     *
     * @param number in row-major order
     */
    public static long position(Tensor tensor, long number) {
        long position = tensor.storageOffset();
        long rest = number;
        for (int i = tensor.dimensions() - 1; i >= 0; i--) {
            position += rest % tensor.size(i) * tensor.stride(i);
            rest /= tensor.size(i);
        }
        return position;
    }

    /**
     * Returns an element as a {@link Boolean}, {@link Long}, {@link Float}, {@link Double}, a {@code double[2]} when
     * complex, or the bits in hexadecimal as a {@link String} for the types that have no meaning here.
     *
     * @param position in elements from the storage's start
     */
    public static Object at(Tensor tensor, long position) {
        DType type = tensor.dtype();
        int size = type.sizeBytes();
        ByteBuffer bytes = tensor.storage().bytes(position * size, size).order(ByteOrder.nativeOrder());
        switch (type) {
            case BOOL:
                return bytes.get(0) != 0;
            case UINT8:
                return (long) Byte.toUnsignedInt(bytes.get(0));
            case INT8:
                return (long) bytes.get(0);
            case UINT16:
                return (long) Short.toUnsignedInt(bytes.getShort(0));
            case INT16:
                return (long) bytes.getShort(0);
            case UINT32:
                return Integer.toUnsignedLong(bytes.getInt(0));
            case INT32:
                return (long) bytes.getInt(0);
            case INT64:
                return bytes.getLong(0);
            case FLOAT32:
                return bytes.getFloat(0);
            case FLOAT64:
                return bytes.getDouble(0);
            case FLOAT16:
                return half(bytes.getShort(0));
            case BFLOAT16:
                return Float.intBitsToFloat(bytes.getShort(0) << 16);
            case COMPLEX32:
                return new double[] {half(bytes.getShort(0)), half(bytes.getShort(2))};
            case COMPLEX64:
                return new double[] {bytes.getFloat(0), bytes.getFloat(4)};
            case COMPLEX128:
                return new double[] {bytes.getDouble(0), bytes.getDouble(8)};
            case UINT64:
                return unsigned(bytes.getLong(0));
            case BITS8:
            case BITS16:
            case FLOAT8_E5M2:
            case FLOAT8_E4M3FN:
            case FLOAT8_E5M2FNUZ:
            case FLOAT8_E4M3FNUZ:
            case FLOAT8_E8M0FNU:
                break;
        }
        return size == 1
                ? String.format(Locale.ROOT, "0x%02x", bytes.get(0))
                : String.format(Locale.ROOT, "0x%04x", bytes.getShort(0));
    }

    private static Object unsigned(long bits) {
        return bits >= 0 ? (Object) bits : Long.toUnsignedString(bits);
    }

    private static float half(short bits) {
        int exponent = bits >>> FRACTION_BITS_HALF & (1 << EXPONENT_BITS_HALF) - 1;
        int fraction = bits & (1 << FRACTION_BITS_HALF) - 1;
        float magnitude;
        if (exponent == 0) {
            magnitude = fraction * 0x1p-24f;
        } else if (exponent == (1 << EXPONENT_BITS_HALF) - 1) {
            magnitude = fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
        } else {
            magnitude = Math.scalb(1 + fraction * 0x1p-10f, exponent - 15);
        }
        return bits < 0 ? -magnitude : magnitude;
    }
}
