package io.waybill.wire;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.agrona.BufferUtil;
import org.agrona.UnsafeApi;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Private memory outside the heap in which a record is composed before it is appended to a journal, and into which one
 * is copied before it is checked and read. Grows; never shrinks. Reusable.
 *
 * <p>Fields of the header are read and written at their addresses, without a check of bounds: the memory always has room
 * for a header. Like all that is mapped, they are little-endian, as the processors are that Waybill runs on.
 *
 * <p>Owned by one thread at a time.
 */
public final class MessageBuffer {

    private static final int ALIGNMENT = 64;
    private static final int INITIAL_CAPACITY = 4096;

    private final CRC32C crc = new CRC32C();
    private final UnsafeBuffer memory = new UnsafeBuffer(0, 0);
    private ByteBuffer bytes;
    private ByteBuffer readOnly;
    private ByteBuffer values;
    long address; // of the first byte of the memory
    private int length;

    public MessageBuffer() {
        allocate(INITIAL_CAPACITY);
    }

    private void allocate(int capacity) {
        bytes = BufferUtil.allocateDirectAligned(capacity, ALIGNMENT).order(ByteOrder.LITTLE_ENDIAN);
        readOnly = bytes.slice(Envelope.HEADER_LENGTH, capacity - Envelope.HEADER_LENGTH)
                .asReadOnlyBuffer();
        values = readOnly.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        memory.wrap(bytes);
        address = memory.addressOffset();
    }

    /** Returns the memory, from the record's first byte on; replaced when it grows. */
    public UnsafeBuffer memory() {
        return memory;
    }

    /** Returns the address of the record's first byte: a multiple of 64. Valid until the next growth. */
    public long address() {
        return address;
    }

    /**
     * Returns a read-only view of the payload without its trailers, from position 0, big-endian: the same object at
     * every call, set again.
     */
    public ByteBuffer payload() {
        return readOnly.limit(valuesLength()).position(0).order(ByteOrder.BIG_ENDIAN);
    }

    /**
     * Returns another view of the payload without its trailers, little-endian, which the handler does not get and so
     * does not move.
     */
    ByteBuffer values() {
        return values.limit(valuesLength());
    }

    /** Returns the size of the payload without context, observations, optional fields and references, in bytes. */
    int valuesLength() {
        int payload = payloadLength();
        return (flags() & Envelope.TRAILERS) == 0
                ? payload
                : payload - referencesLength() - optionalFieldsLength() - observationsLength() - contextLength();
    }

    /** Returns the size of the references at the payload's end, in bytes; 0 when there are none. */
    int referencesLength() {
        return (flags() & Envelope.REFERENCES) == 0
                ? 0
                : memory.getInt(Envelope.HEADER_LENGTH + payloadLength() - 4, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the size of the optional fields in front of the references, in bytes; 0 when there are none. */
    int optionalFieldsLength() {
        return (flags() & Envelope.OPTIONAL_FIELDS) == 0
                ? 0
                : memory.getInt(
                        Envelope.HEADER_LENGTH + payloadLength() - referencesLength() - 4, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the size of the observations in front of the optional fields, in bytes; 0 when there are none. */
    int observationsLength() {
        return innerLength(Envelope.OBSERVATIONS);
    }

    /**
     * Returns the size of the context in front of the optional fields, in bytes; 0 when there is none. A request has no
     * observations.
     */
    int contextLength() {
        return innerLength(Envelope.CONTEXT);
    }

    private int innerLength(int flag) {
        int end = Envelope.HEADER_LENGTH + payloadLength() - referencesLength() - optionalFieldsLength();
        return (flags() & flag) == 0 ? 0 : memory.getInt(end - 4, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the size of a call's context in its record, in bytes; 0 for an empty one. */
    public static int contextLength(CallContext context) {
        return ContextBlock.length(context);
    }

    /** Returns the length of the record in the buffer. */
    public int length() {
        return length;
    }

    /** Reserves memory for a record of this length, whose content is undefined. */
    public void reserve(int recordLength) {
        if (recordLength > memory.capacity()) {
            allocate(
                    (int) Math.min(Integer.MAX_VALUE - ALIGNMENT - 8L, Math.max(recordLength, 2L * memory.capacity())));
        }
        length = recordLength;
    }

    /**
     * Starts a record: sets every field of the header that no later call sets. Payload and tensor section are then put
     * at {@link Envelope#HEADER_LENGTH} and {@link Envelope#sectionOffset}.
     */
    public MessageBuffer begin(MessageType type, long id, int from, int to, int payloadLength, int sectionLength) {
        reserve(Math.toIntExact(Envelope.recordLength(payloadLength, sectionLength)));
        long at = address;
        UnsafeApi.putInt(null, at + Envelope.MAGIC_AT, Envelope.MAGIC | Envelope.VERSION << 16);
        UnsafeApi.putLong(null, at + Envelope.SEQUENCE, 0);
        UnsafeApi.putLong(null, at + Envelope.ID, id);
        UnsafeApi.putInt(null, at + Envelope.FROM, from & 0xffff | to << 16);
        UnsafeApi.putInt(null, at + Envelope.TYPE, type.code());
        UnsafeApi.putInt(null, at + Envelope.PAYLOAD_LENGTH, payloadLength);
        UnsafeApi.putInt(null, at + Envelope.SECTION_LENGTH, sectionLength);
        UnsafeApi.putLong(null, at + Envelope.DEADLINE, 0);
        UnsafeApi.putLong(null, at + Envelope.SENT, 0);
        UnsafeApi.putLong(null, at + Envelope.PARENT, MessageId.NONE);
        UnsafeApi.putLong(null, at + Envelope.TRACE_HIGH, 0);
        UnsafeApi.putLong(null, at + Envelope.TRACE_LOW, 0);
        UnsafeApi.putLong(null, at + Envelope.SPAN, 0);
        UnsafeApi.putLong(null, at + Envelope.HANDLER_SEQUENCE, 0);
        UnsafeApi.putLong(null, at + Envelope.ERROR_KIND, 0);
        if (sectionLength > 0) {
            // between payload and section: less than 8 bytes, since the section starts on a multiple of 8
            for (int i = Envelope.HEADER_LENGTH + payloadLength, end = Envelope.sectionOffset(payloadLength);
                    i < end;
                    i++) {
                memory.putByte(i, (byte) 0);
            }
        }
        return this;
    }

    /** Returns the type of the record that was begun. */
    public MessageType type() {
        return MessageType.of(UnsafeApi.getShort(null, address + Envelope.TYPE) & 0xffff);
    }

    private int flags() {
        return UnsafeApi.getByte(null, address + Envelope.FLAGS);
    }

    public MessageBuffer flags(int flags) {
        UnsafeApi.putByte(null, address + Envelope.FLAGS, (byte) flags);
        return this;
    }

    /** Sets one more flag. */
    public MessageBuffer addFlag(int flag) {
        return flags(flags() | flag);
    }

    public MessageBuffer deadlineNs(long bootNs) {
        UnsafeApi.putLong(null, address + Envelope.DEADLINE, bootNs);
        return this;
    }

    /** Sets the time at which the handler of a response's request began; same field as a request's deadline. */
    public MessageBuffer begunNs(long wallNs) {
        UnsafeApi.putLong(null, address + Envelope.DEADLINE, wallNs);
        return this;
    }

    public MessageBuffer sentNs(long wallNs) {
        UnsafeApi.putLong(null, address + Envelope.SENT, wallNs);
        return this;
    }

    /** Sets the deadline of a request by the wall clock, for readers of other boots and hosts; 0 for none. */
    public MessageBuffer dueNs(long wallNs) {
        UnsafeApi.putLong(null, address + Envelope.DUE, wallNs);
        return this;
    }

    /** Sets the number of the bundle that gives this response; 0 when it is unknown. */
    public MessageBuffer responder(long number) {
        UnsafeApi.putLong(null, address + Envelope.RESPONDER, number);
        return this;
    }

    /** Sets the failed call that caused the error in this response. */
    public MessageBuffer root(ErrorCode code, long id) {
        UnsafeApi.putLong(null, address + Envelope.ROOT_ID, id);
        UnsafeApi.putShort(null, address + Envelope.ROOT_CODE, (short) code.number());
        return this;
    }

    public MessageBuffer parent(long id) {
        UnsafeApi.putLong(null, address + Envelope.PARENT, id);
        return this;
    }

    public MessageBuffer id(long id) {
        UnsafeApi.putLong(null, address + Envelope.ID, id);
        return this;
    }

    /** Sets the epoch of the receiver's incarnation that a request is for; only the low 32 bits count. */
    public MessageBuffer epoch(long epoch) {
        UnsafeApi.putInt(null, address + Envelope.EPOCH, (int) epoch);
        return this;
    }

    public MessageBuffer trace(long high, long low, long span) {
        UnsafeApi.putLong(null, address + Envelope.TRACE_HIGH, high);
        UnsafeApi.putLong(null, address + Envelope.TRACE_LOW, low);
        UnsafeApi.putLong(null, address + Envelope.SPAN, span);
        return this;
    }

    public MessageBuffer handlerSequence(long sequence) {
        UnsafeApi.putLong(null, address + Envelope.HANDLER_SEQUENCE, sequence);
        return this;
    }

    public MessageBuffer error(ErrorKind kind, ErrorCode code) {
        UnsafeApi.putInt(null, address + Envelope.ERROR_KIND, kind.code() | code.number() << 16);
        return this;
    }

    public MessageBuffer tensorCount(int count) {
        UnsafeApi.putShort(null, address + Envelope.TENSOR_COUNT, (short) count);
        return this;
    }

    public MessageBuffer payload(byte[] array, int offset, int payloadLength) {
        memory.putBytes(Envelope.HEADER_LENGTH, array, offset, payloadLength);
        return this;
    }

    public MessageBuffer payload(ByteBuffer source, int payloadLength) {
        memory.putBytes(Envelope.HEADER_LENGTH, source, source.position(), payloadLength);
        return this;
    }

    /**
     * Puts what the handler observed behind the values of a response that was begun with room for it, after its flags
     * were set.
     */
    public MessageBuffer observations(byte[] encoded, int valuesLength) {
        memory.putBytes(Envelope.HEADER_LENGTH + valuesLength, encoded);
        return addFlag(Envelope.OBSERVATIONS);
    }

    /**
     * Puts the context of a call behind the values of a request that was begun with room for it, after its flags were
     * set.
     *
     * @param span id of the span that the call is, for a traced context
     */
    public MessageBuffer context(CallContext context, long span, int valuesLength) {
        ContextBlock.write(context, memory, Envelope.HEADER_LENGTH + valuesLength);
        context.trace().ifPresent(trace -> trace(trace.traceIdHigh(), trace.traceIdLow(), span));
        return addFlag(Envelope.CONTEXT);
    }

    /**
     * Puts optional fields into a record that was begun with room for them, after its flags were set.
     *
     * @param offset position in the payload: behind the values, and the observations or the context
     */
    public MessageBuffer optionalFields(OptionalFields fields, int offset) {
        memory.putBytes(Envelope.HEADER_LENGTH + offset, fields.encode());
        return fields.isEmpty() ? this : addFlag(Envelope.OPTIONAL_FIELDS);
    }

    /** Ends a record: sets its sequence in the queue, and the checksum. */
    public void seal(long sequence) {
        UnsafeApi.putLong(null, address + Envelope.SEQUENCE, sequence);
        UnsafeApi.putInt(null, address + Envelope.CHECKSUM, checksum());
    }

    int checksum() {
        crc.reset();
        bytes.limit(length).position(Envelope.CHECKED_FROM);
        crc.update(bytes);
        bytes.clear();
        return (int) crc.getValue();
    }

    private int payloadLength() {
        return UnsafeApi.getInt(null, address + Envelope.PAYLOAD_LENGTH);
    }
}
