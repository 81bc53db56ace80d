package io.waybill.cli.conformance.play;

import io.waybill.api.DType;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import java.nio.ByteBuffer;
import java.util.Set;

/** Writes elements of tensors from JSON: exactly, or not at all. Stateless. */
final class ElementWriter {

    private static final Set<String> COMPLEX = Set.of("re", "im");
    private static final int HALF_EXPONENT_BIAS = 15;
    private static final int HALF_INFINITY = 0x7c00;
    private static final int HALF_NAN = 0x7e00;

    private ElementWriter() {}

    /**
     * Writes one element.
     *
     * @param bytes in native order
     * @param at in bytes
     */
    static void put(ByteBuffer bytes, int at, DType dtype, Datum element) throws FormatException {
        switch (dtype) {
            case BOOL:
                bytes.put(at, (byte) (truth(element) ? 1 : 0));
                break;
            case UINT8:
                bytes.put(at, (byte) whole(element, 0, 0xff));
                break;
            case INT8:
                bytes.put(at, (byte) whole(element, Byte.MIN_VALUE, Byte.MAX_VALUE));
                break;
            case INT16:
                bytes.putShort(at, (short) whole(element, Short.MIN_VALUE, Short.MAX_VALUE));
                break;
            case UINT16:
                bytes.putShort(at, (short) whole(element, 0, 0xffff));
                break;
            case INT32:
                bytes.putInt(at, (int) whole(element, Integer.MIN_VALUE, Integer.MAX_VALUE));
                break;
            case UINT32:
                bytes.putInt(at, (int) whole(element, 0, 0xffffffffL));
                break;
            case INT64:
                bytes.putLong(at, whole(element, Long.MIN_VALUE, Long.MAX_VALUE));
                break;
            case FLOAT32:
                bytes.putFloat(at, (float) real(element));
                break;
            case FLOAT64:
                bytes.putDouble(at, real(element));
                break;
            case FLOAT16:
                bytes.putShort(at, half(real(element)));
                break;
            case BFLOAT16:
                bytes.putShort(at, brain(real(element)));
                break;
            case COMPLEX64:
                bytes.putFloat(at, (float) part(element, "re")).putFloat(at + 4, (float) part(element, "im"));
                break;
            case COMPLEX128:
                bytes.putDouble(at, part(element, "re")).putDouble(at + 8, part(element, "im"));
                break;
            default:
                throw new FormatException("elements of the type " + dtype.torchName() + " can't be written here");
        }
    }

    private static boolean truth(Datum element) throws FormatException {
        if (element instanceof Datum.Truth truth) {
            return truth.value();
        }
        throw new FormatException("expected true or false for an element, found " + element.described());
    }

    private static long whole(Datum element, long least, long most) throws FormatException {
        if (element instanceof Datum.Whole whole && whole.value() >= least && whole.value() <= most) {
            return whole.value();
        }
        throw new FormatException("expected a whole number from " + least + " to " + most + " for an element, found "
                + element.described());
    }

    /** A number, or one that JSON has no number for: {@code "nan"}, {@code "inf"}, {@code "-inf"}. */
    static double real(Datum element) throws FormatException {
        if (element instanceof Datum.Whole whole) {
            return whole.value();
        } else if (element instanceof Datum.Real real) {
            return real.value();
        } else if (element instanceof Datum.Text text) {
            switch (text.value()) {
                case "nan":
                    return Double.NaN;
                case "inf":
                    return Double.POSITIVE_INFINITY;
                case "-inf":
                    return Double.NEGATIVE_INFINITY;
                default:
                    break;
            }
        }
        throw new FormatException("expected a number for an element, found " + element.described());
    }

    private static double part(Datum element, String name) throws FormatException {
        if (element instanceof Datum.Record) {
            return Fields.of("a complex number", element).only(COMPLEX).real(name, 0);
        }
        return name.equals("re") ? real(element) : 0;
    }

    private static short half(double value) throws FormatException {
        if (!(Math.abs(value) <= Float.MAX_VALUE)) {
            return (short) (Double.isNaN(value) ? HALF_NAN : value < 0 ? HALF_INFINITY | 0x8000 : HALF_INFINITY);
        }
        int sign = 1 / value < 0 || value < 0 ? 0x8000 : 0;
        double magnitude = Math.abs(value);
        if (magnitude == 0) {
            return (short) sign;
        }
        int exponent = Math.max(Math.getExponent(magnitude), 1 - HALF_EXPONENT_BIAS);
        double fraction = Math.scalb(magnitude, 10 - exponent);
        if (exponent > HALF_EXPONENT_BIAS || fraction != Math.rint(fraction) || fraction >= 2048) {
            throw new FormatException("no float16 is exactly " + value);
        }
        int biased = fraction < 1024 ? 0 : exponent + HALF_EXPONENT_BIAS;
        return (short) (sign | biased << 10 | (int) fraction & 0x3ff);
    }

    private static short brain(double value) throws FormatException {
        int bits = Float.floatToRawIntBits((float) value);
        if ((bits & 0xffff) != 0 || Double.compare((float) value, value) != 0) {
            throw new FormatException("no bfloat16 is exactly " + value);
        }
        return (short) (bits >>> 16);
    }
}
