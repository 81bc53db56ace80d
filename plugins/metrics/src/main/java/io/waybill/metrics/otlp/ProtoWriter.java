package io.waybill.metrics.otlp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Writer of a message in the binary form of Protocol Buffers: field by field, in the order of the calls. Fields with
 * the default value are omitted, as in proto3.
 *
 * <p><b>Threads.</b> One at a time.
 */
final class ProtoWriter {

    private static final int VARINT = 0;
    private static final int FIXED_64 = 1;
    private static final int LENGTH_DELIMITED = 2;
    private static final int FIXED_32 = 5;
    private static final int TAG_BITS = 3;
    private static final int MORE = 0x80;
    private static final int LOW_BITS = 7;

    private byte[] bytes = new byte[256];
    private int length;

    /** Writes the fields of an inner message. */
    ProtoWriter message(int field, Consumer<ProtoWriter> content) {
        ProtoWriter inner = new ProtoWriter();
        content.accept(inner);
        return delimited(field, inner.bytes, inner.length);
    }

    ProtoWriter string(int field, String value) {
        return value.isEmpty() ? this : bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    ProtoWriter bytes(int field, byte[] value) {
        return delimited(field, value, value.length);
    }

    private ProtoWriter delimited(int field, byte[] value, int count) {
        tag(field, LENGTH_DELIMITED);
        rawVarint(count);
        room(count);
        System.arraycopy(value, 0, bytes, length, count);
        length += count;
        return this;
    }

    ProtoWriter varint(int field, long value) {
        if (value != 0) {
            tag(field, VARINT);
            rawVarint(value);
        }
        return this;
    }

    ProtoWriter bool(int field, boolean value) {
        return varint(field, value ? 1 : 0);
    }

    ProtoWriter fixed32(int field, int value) {
        if (value != 0) {
            tag(field, FIXED_32);
            room(Integer.BYTES);
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(length, value);
            length += Integer.BYTES;
        }
        return this;
    }

    ProtoWriter fixed64(int field, long value) {
        return value == 0 ? this : presentFixed64(field, value);
    }

    /** Writes a value that is present even if it is 0, as in a {@code oneof}. */
    ProtoWriter presentDouble(int field, double value) {
        return presentFixed64(field, Double.doubleToRawLongBits(value));
    }

    /** Writes a value that is present even if it is 0. */
    ProtoWriter presentVarint(int field, long value) {
        tag(field, VARINT);
        rawVarint(value);
        return this;
    }

    private ProtoWriter presentFixed64(int field, long value) {
        tag(field, FIXED_64);
        raw64(value);
        return this;
    }

    /** Writes a packed list of numbers with 8 bytes each. */
    ProtoWriter packed64(int field, long[] values) {
        if (values.length > 0) {
            tag(field, LENGTH_DELIMITED);
            rawVarint((long) values.length * Long.BYTES);
            for (long value : values) {
                raw64(value);
            }
        }
        return this;
    }

    private void tag(int field, int type) {
        rawVarint((long) field << TAG_BITS | type);
    }

    private void raw64(long value) {
        room(Long.BYTES);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(length, value);
        length += Long.BYTES;
    }

    private void rawVarint(long value) {
        room(Long.BYTES + 2);
        long rest = value;
        while (Long.compareUnsigned(rest, MORE) >= 0) {
            bytes[length++] = (byte) (rest | MORE);
            rest >>>= LOW_BITS;
        }
        bytes[length++] = (byte) rest;
    }

    private void room(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, length + more));
        }
    }

    byte[] toByteArray() {
        return Arrays.copyOf(bytes, length);
    }
}
