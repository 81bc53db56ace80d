package io.waybill.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Fields that few records have, by their kind: a record without them has no byte of them. Readers skip kinds that they
 * do not know. {@code docs/reference/envelope.md} has their bytes. Immutable.
 */
public final class OptionalFields {

    /** Max bytes of all optional fields of a record. */
    public static final int MAX_LENGTH = 4096;

    /** Bytes of the digest of a chain. */
    public static final int DIGEST_LENGTH = 32;

    /** Value without any fields. */
    public static final OptionalFields NONE = new OptionalFields(new TreeMap<>());

    static final int END_LENGTH = 8;

    private static final int FIELD_HEADER = 4;
    private static final int STREAM = 1;
    private static final int STREAM_LENGTH = 9;
    private static final int STREAM_FLAGS_AT = 8;
    private static final int CHAIN = 2;
    private static final int LAST_PART = 1;

    private final SortedMap<Integer, byte[]> fields;

    private OptionalFields(SortedMap<Integer, byte[]> fields) {
        this.fields = fields;
    }

    /** Returns these fields and the position of the record in a stream that continues. */
    public OptionalFields withStreamPart(long sequence) {
        return withStream(sequence, 0);
    }

    /** Returns these fields and the position of the record in a stream that it ends. */
    public OptionalFields withStreamEnd(long sequence) {
        return withStream(sequence, LAST_PART);
    }

    private OptionalFields withStream(long sequence, int flags) {
        byte[] value = ByteBuffer.allocate(STREAM_LENGTH)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(sequence)
                .put((byte) flags)
                .array();
        return with(STREAM, value);
    }

    /**
     * Returns these fields and the digest of a chain of records.
     *
     * @param digest digest of {@link #DIGEST_LENGTH} bytes
     */
    public OptionalFields withChainDigest(byte[] digest) {
        if (digest.length != DIGEST_LENGTH) {
            throw new IllegalArgumentException(
                    "expected a digest of " + DIGEST_LENGTH + " bytes, found " + digest.length);
        }
        return with(CHAIN, digest.clone());
    }

    /** Returns these fields and one more. */
    OptionalFields with(int kind, byte[] value) {
        SortedMap<Integer, byte[]> more = new TreeMap<>(fields);
        more.put(kind, value);
        return new OptionalFields(more);
    }

    /** Returns whether there are no fields. */
    public boolean isEmpty() {
        return fields.isEmpty();
    }

    /** Returns the sequence of the record in its stream; empty when it belongs to none. */
    public OptionalLong streamSequence() {
        byte[] value = fields.get(STREAM);
        return value == null
                ? OptionalLong.empty()
                : OptionalLong.of(
                        ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getLong());
    }

    /** Returns whether the record ends its stream. */
    public boolean isStreamEnd() {
        byte[] value = fields.get(STREAM);
        return value != null && (value[STREAM_FLAGS_AT] & LAST_PART) != 0;
    }

    /** Returns the digest of the chain. */
    public Optional<byte[]> chainDigest() {
        return Optional.ofNullable(fields.get(CHAIN)).map(byte[]::clone);
    }

    /** Returns the lengths of the values that this version does not know, by kind. */
    public SortedMap<Integer, Integer> unknown() {
        SortedMap<Integer, Integer> unknown = new TreeMap<>();
        fields.forEach((kind, value) -> unknown.put(kind, value.length));
        unknown.keySet().removeAll(Arrays.asList(STREAM, CHAIN));
        return Collections.unmodifiableSortedMap(unknown);
    }

    /** Returns the size of the fields in a record, in bytes; 0 without any. */
    public int length() {
        int length = isEmpty() ? 0 : END_LENGTH;
        for (byte[] value : fields.values()) {
            length += FIELD_HEADER + value.length;
        }
        return length;
    }

    /** Encodes the fields in record format; no bytes without any. */
    byte[] encode() {
        ByteBuffer bytes = ByteBuffer.allocate(length()).order(ByteOrder.LITTLE_ENDIAN);
        for (Map.Entry<Integer, byte[]> field : fields.entrySet()) {
            bytes.putShort(field.getKey().shortValue())
                    .putShort((short) field.getValue().length)
                    .put(field.getValue());
        }
        if (!isEmpty()) {
            bytes.putShort((short) fields.size()).putShort((short) 0).putInt(length());
        }
        return bytes.array();
    }

    /**
     * Checks the fields that end at {@code end}, without an allocation.
     *
     * @param start offset before which no field begins
     * @throws MalformedRecordException with what was expected and what was found
     */
    static void check(UnsafeBuffer memory, int start, int end) throws MalformedRecordException {
        long length = end - start < END_LENGTH ? 0 : u32(memory, end - Integer.BYTES);
        if (length < END_LENGTH || length > Math.min(end - start, MAX_LENGTH)) {
            throw new MalformedRecordException("optional fields at the end of " + (end - start) + " bytes have from "
                    + END_LENGTH + " to " + MAX_LENGTH + " of them, these " + length);
        }
        int last = end - END_LENGTH;
        int count = u16(memory, last);
        int at = end - (int) length;
        int previous = 0;
        int found = 0;
        while (at < last) {
            int kind = last - at < FIELD_HEADER ? 0 : u16(memory, at);
            int value = kind == 0 ? 0 : u16(memory, at + Short.BYTES);
            if (kind <= previous || value > last - at - FIELD_HEADER || value != lengthOf(kind, value)) {
                throw new MalformedRecordException("optional fields ascend and have room for their values: field "
                        + found
                        + " of kind " + kind + " has " + value + " bytes, behind kind " + previous + " and with "
                        + (last - at) + " bytes left");
            }
            previous = kind;
            at += FIELD_HEADER + value;
            found++;
        }
        if (found == 0 || found != count || u16(memory, last + Short.BYTES) != 0) {
            throw new MalformedRecordException(
                    "a record has as many optional fields as it says, at least one: found " + found + " of " + count);
        }
    }

    /** Returns the length of a value of this kind; the given one for an unknown kind. */
    private static int lengthOf(int kind, int given) {
        return switch (kind) {
            case STREAM -> STREAM_LENGTH;
            case CHAIN -> DIGEST_LENGTH;
            default -> given;
        };
    }

    /** Reads fields that passed {@link #check}. */
    static OptionalFields read(UnsafeBuffer memory, int start, int length) {
        SortedMap<Integer, byte[]> fields = new TreeMap<>();
        int last = start + length - END_LENGTH;
        for (int at = start; at < last; ) {
            byte[] value = new byte[u16(memory, at + Short.BYTES)];
            memory.getBytes(at + FIELD_HEADER, value);
            fields.put(u16(memory, at), value);
            at += FIELD_HEADER + value.length;
        }
        return new OptionalFields(fields);
    }

    private static int u16(UnsafeBuffer memory, int at) {
        return Short.toUnsignedInt(memory.getShort(at, ByteOrder.LITTLE_ENDIAN));
    }

    private static long u32(UnsafeBuffer memory, int at) {
        return Integer.toUnsignedLong(memory.getInt(at, ByteOrder.LITTLE_ENDIAN));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OptionalFields that && Arrays.equals(encode(), that.encode());
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(encode());
    }
}
