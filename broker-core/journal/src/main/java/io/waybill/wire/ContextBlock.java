package io.waybill.wire;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Codec of a request's context, encoded behind its values; {@code docs/reference/envelope.md} describes its bytes. The
 * trace id, and the id of the span that the request is, are in the header.
 */
final class ContextBlock {

    private static final int END_LENGTH = 8;
    private static final int VALUE_LENGTHS = 3; // lengths of a name and a value
    private static final int TRACE_LENGTH = 11; // without the state
    private static final int FLAGS_AT = 8;
    private static final int STATE_LENGTH_AT = 9;
    private static final int MAX_FLAGS = TraceContext.SAMPLED | TraceContext.RANDOM;

    /** Max length of a block. */
    static final int MAX_LENGTH = CallContext.MAX_BYTES
            + CallContext.MAX_ENTRIES * VALUE_LENGTHS
            + TRACE_LENGTH
            + TraceContext.MAX_STATE_LENGTH
            + END_LENGTH;

    private ContextBlock() {}

    /** Returns the length of a context's block; 0 for an empty one. */
    static int length(CallContext context) {
        if (context.isEmpty()) {
            return 0;
        }
        int trace = context.trace()
                .map(each -> TRACE_LENGTH + each.state().length())
                .orElse(0);
        return context.sizeInBytes() + context.names().size() * VALUE_LENGTHS + trace + END_LENGTH;
    }

    /** Writes the block of a context that is not empty. */
    static void write(CallContext context, UnsafeBuffer memory, int start) {
        int at = start;
        TraceContext trace = context.trace().orElse(null);
        if (trace != null) {
            memory.putLong(at, trace.spanId(), ByteOrder.LITTLE_ENDIAN);
            memory.putByte(at + FLAGS_AT, (byte) trace.flags());
            memory.putShort(at + STATE_LENGTH_AT, (short) trace.state().length(), ByteOrder.LITTLE_ENDIAN);
            at += TRACE_LENGTH + memory.putStringWithoutLengthAscii(at + TRACE_LENGTH, trace.state());
        }
        for (String name : context.names()) {
            ByteBuffer value = context.bytes(name).orElseThrow();
            memory.putByte(at, (byte) name.length());
            at += 1 + memory.putStringWithoutLengthAscii(at + 1, name);
            memory.putShort(at, (short) value.remaining(), ByteOrder.LITTLE_ENDIAN);
            memory.putBytes(at + 2, value, 0, value.remaining());
            at += 2 + value.remaining();
        }
        memory.putShort(at, (short) context.names().size(), ByteOrder.LITTLE_ENDIAN);
        memory.putShort(at + 2, (short) (trace == null ? 0 : 1), ByteOrder.LITTLE_ENDIAN);
        memory.putInt(at + 4, at + END_LENGTH - start, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns whether the trace of a block that has one is recorded. */
    static boolean isSampled(UnsafeBuffer memory, int start) {
        return (memory.getByte(start + FLAGS_AT) & TraceContext.SAMPLED) != 0;
    }

    /**
     * Checks everything on which {@link #read} relies.
     *
     * @param from offset of the first byte of the payload
     * @param end offset behind the last byte of the block
     * @param isTraced whether the header has a trace
     */
    static void check(UnsafeBuffer memory, int from, int end, boolean isTraced) throws MalformedRecordException {
        int length = end - from < END_LENGTH ? 0 : memory.getInt(end - 4, ByteOrder.LITTLE_ENDIAN);
        if (length < END_LENGTH || length > MAX_LENGTH || length > end - from) {
            throw new MalformedRecordException("the context of a request has " + END_LENGTH + " to " + MAX_LENGTH
                    + " of the " + (end - from) + " bytes that end with it, and this one " + length);
        }
        int last = end - END_LENGTH;
        int count = Short.toUnsignedInt(memory.getShort(last, ByteOrder.LITTLE_ENDIAN));
        int traced = memory.getShort(last + 2, ByteOrder.LITTLE_ENDIAN);
        if (count > CallContext.MAX_ENTRIES || traced != (isTraced ? 1 : 0) || count + traced == 0) {
            throw new MalformedRecordException("a context has at most " + CallContext.MAX_ENTRIES
                    + " values, and a trace if and only if the header has one, but not neither; this one has " + count
                    + " values and " + traced + " traces");
        }
        int at = end - length;
        if (traced == 1) {
            at = checkTrace(memory, at, last);
        }
        at = checkValues(memory, at, last, count);
        if (at != last) {
            throw new MalformedRecordException("a trace and the values of a context fill it, and these leave "
                    + (last - at) + " of " + length + " bytes");
        }
    }

    private static int checkValues(UnsafeBuffer memory, int start, int last, int count)
            throws MalformedRecordException {
        int at = start;
        int before = -1;
        int bytes = 0;
        for (int i = 0; i < count; i++) {
            int nameLength = at < last ? Byte.toUnsignedInt(memory.getByte(at)) : 0;
            int valueAt = at + 1 + nameLength;
            if (nameLength == 0 || nameLength > CallContext.MAX_NAME_LENGTH || valueAt + 2 > last) {
                throw new MalformedRecordException("the name of value " + i + " in a context has 1 to "
                        + CallContext.MAX_NAME_LENGTH + " characters within the context, and this one " + nameLength);
            }
            checkName(memory, at + 1, nameLength, i);
            int valueLength = Short.toUnsignedInt(memory.getShort(valueAt, ByteOrder.LITTLE_ENDIAN));
            bytes += nameLength + valueLength;
            if (valueLength > last - valueAt - 2 || bytes > CallContext.MAX_BYTES) {
                throw new MalformedRecordException("names and values of a context have at most " + CallContext.MAX_BYTES
                        + " bytes within it, and value " + i + " has " + valueLength);
            }
            if (before >= 0 && !isBefore(memory, before, at)) {
                throw new MalformedRecordException(
                        "the names in a context ascend, and that of value " + i + " does not");
            }
            before = at;
            at = valueAt + 2 + valueLength;
        }
        return at;
    }

    private static void checkName(UnsafeBuffer memory, int at, int length, int index) throws MalformedRecordException {
        if (!CallContext.isName(text(memory, at, length))) {
            throw new MalformedRecordException(
                    "the name of value " + index + " in a context is none, at offset " + at + ", length " + length);
        }
    }

    /** Returns whether one name, with its length, is smaller than another. */
    private static boolean isBefore(UnsafeBuffer memory, int first, int second) {
        int firstLength = memory.getByte(first);
        int secondLength = memory.getByte(second);
        for (int i = 1; i <= Math.min(firstLength, secondLength); i++) {
            int difference = memory.getByte(first + i) - memory.getByte(second + i);
            if (difference != 0) {
                return difference < 0;
            }
        }
        return firstLength < secondLength;
    }

    private static int checkTrace(UnsafeBuffer memory, int at, int last) throws MalformedRecordException {
        int stateLength = last - at < TRACE_LENGTH
                ? -1
                : Short.toUnsignedInt(memory.getShort(at + STATE_LENGTH_AT, ByteOrder.LITTLE_ENDIAN));
        if (stateLength < 0 || stateLength > TraceContext.MAX_STATE_LENGTH || stateLength > last - at - TRACE_LENGTH) {
            throw new MalformedRecordException("the trace of a context has " + TRACE_LENGTH
                    + " bytes and a state of at most " + TraceContext.MAX_STATE_LENGTH
                    + " within the context, and here are "
                    + (last - at) + " bytes and a state of " + stateLength);
        }
        int flags = memory.getByte(at + FLAGS_AT);
        if ((flags & ~MAX_FLAGS) != 0) {
            throw new MalformedRecordException(
                    "the trace of a context has flags up to " + MAX_FLAGS + ", not " + flags);
        }
        try {
            trace(memory, at, 1, 1, memory.getLong(at, ByteOrder.LITTLE_ENDIAN));
        } catch (IllegalArgumentException e) {
            throw new MalformedRecordException("the trace of a context is none: " + e.getMessage());
        }
        return at + TRACE_LENGTH + stateLength;
    }

    private static TraceContext trace(UnsafeBuffer memory, int at, long high, long low, long span) {
        int stateLength = memory.getShort(at + STATE_LENGTH_AT, ByteOrder.LITTLE_ENDIAN);
        return new TraceContext(
                high, low, span, memory.getByte(at + FLAGS_AT), text(memory, at + TRACE_LENGTH, stateLength));
    }

    /**
     * Reads a block that passed the check.
     *
     * @param start offset of its first byte
     * @param length length of the whole block
     * @param record the record with the block
     */
    static CallContext read(UnsafeBuffer memory, int start, int length, RecordView record) {
        int last = start + length - END_LENGTH;
        boolean isTraced = memory.getShort(last + 2, ByteOrder.LITTLE_ENDIAN) == 1;
        int at = start;
        if (isTraced) {
            at += TRACE_LENGTH + memory.getShort(start + STATE_LENGTH_AT, ByteOrder.LITTLE_ENDIAN);
        }
        Map<String, byte[]> values = new HashMap<>();
        while (at < last) {
            int nameLength = memory.getByte(at);
            int valueAt = at + 1 + nameLength;
            byte[] value = new byte[Short.toUnsignedInt(memory.getShort(valueAt, ByteOrder.LITTLE_ENDIAN))];
            memory.getBytes(valueAt + 2, value);
            values.put(text(memory, at + 1, nameLength), value);
            at = valueAt + 2 + value.length;
        }
        CallContext context = CallContext.of(values);
        return isTraced
                ? context.with(trace(memory, start, record.traceHigh(), record.traceLow(), record.span()))
                : context;
    }

    private static String text(UnsafeBuffer memory, int at, int length) {
        byte[] bytes = new byte[length];
        memory.getBytes(at, bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }
}
