package io.waybill.conformance.worker;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.tensor.DType;
import io.waybill.conformance.cases.CaseFormatException;
import java.nio.ByteBuffer;
import java.util.Map;

/** Writes elements of tensors from JSON: exactly, or not at all. Stateless. */
final class ElementWriter {

    private static final Map<String, Double> NOT_IN_JSON =
            Map.of("nan", Double.NaN, "inf", Double.POSITIVE_INFINITY, "-inf", Double.NEGATIVE_INFINITY);
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
    static void put(ByteBuffer bytes, int at, DType dtype, JsonNode element) {
        switch (dtype) {
            case BOOL -> bytes.put(at, (byte) (bool(element) ? 1 : 0));
            case UINT8, INT8 -> bytes.put(at, (byte) whole(element, dtype));
            case UINT16, INT16 -> bytes.putShort(at, (short) whole(element, dtype));
            case UINT32, INT32 -> bytes.putInt(at, (int) whole(element, dtype));
            case INT64 -> bytes.putLong(at, whole(element, dtype));
            case FLOAT16 -> bytes.putShort(at, half(real(element)));
            case BFLOAT16 -> bytes.putShort(at, brain(real(element)));
            case FLOAT32 -> bytes.putFloat(at, (float) real(element));
            case FLOAT64 -> bytes.putDouble(at, real(element));
            case COMPLEX64 ->
                bytes.putFloat(at, (float) part(element, "re")).putFloat(at + 4, (float) part(element, "im"));
            case COMPLEX128 -> bytes.putDouble(at, part(element, "re")).putDouble(at + 8, part(element, "im"));
            default ->
                throw new CaseFormatException("elements of the type " + dtype.torchName() + " can't be written here");
        }
    }

    private static boolean bool(JsonNode element) {
        if (element.isBoolean()) {
            return element.booleanValue();
        }
        throw new CaseFormatException("expected true or false for an element, found " + element);
    }

    private static long whole(JsonNode element, DType dtype) {
        int bits = Byte.SIZE * dtype.sizeBytes();
        boolean isSigned = dtype.torchName().startsWith("int");
        long min = isSigned ? -1L << bits - 1 : 0;
        long max = isSigned ? ~min : (1L << bits) - 1;
        if (element.isIntegralNumber()
                && element.canConvertToLong()
                && element.longValue() >= min
                && element.longValue() <= max) {
            return element.longValue();
        }
        throw new CaseFormatException(
                "expected a whole number from " + min + " to " + max + " for an element, found " + element);
    }

    /** A number, or one that JSON has no number for: {@code "nan"}, {@code "inf"}, {@code "-inf"}. */
    static double real(JsonNode element) {
        if (element.isNumber()) {
            return element.doubleValue();
        } else if (element.isTextual() && NOT_IN_JSON.containsKey(element.textValue())) {
            return NOT_IN_JSON.get(element.textValue());
        }
        throw new CaseFormatException("expected a number for an element, found " + element);
    }

    private static double part(JsonNode element, String name) {
        JsonNode part = element.isObject() || name.equals("im") ? element.path(name) : element;
        return part.isMissingNode() ? 0 : real(part);
    }

    private static short half(double value) {
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
            throw new CaseFormatException("no float16 is exactly " + value);
        }
        int biased = fraction < 1024 ? 0 : exponent + HALF_EXPONENT_BIAS;
        return (short) (sign | biased << 10 | (int) fraction & 0x3ff);
    }

    private static short brain(double value) {
        int bits = Float.floatToRawIntBits((float) value);
        if ((bits & 0xffff) != 0 || Double.compare((float) value, value) != 0) {
            throw new CaseFormatException("no bfloat16 is exactly " + value);
        }
        return (short) (bits >>> 16);
    }
}
