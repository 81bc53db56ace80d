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
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Private memory outside the heap in which a record is composed before it is appended to a journal, and into which one
 * is copied before it is checked and read. Grows; never shrinks. Reusable.
 *
 * <p>Owned by one thread at a time.
 */
public final class MessageBuffer {

    private static final int ALIGNMENT = 64;
    private static final int INITIAL_CAPACITY = 4096;
    private static final int TRAILERS =
            Envelope.REFERENCES | Envelope.OBSERVATIONS | Envelope.CONTEXT | Envelope.OPTIONAL_FIELDS;

    private final CRC32C crc = new CRC32C();
    private final UnsafeBuffer memory = new UnsafeBuffer(0, 0);
    private ByteBuffer bytes;
    private ByteBuffer readOnly;
    private ByteBuffer values;
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
    }

    /** Returns the memory, from the record's first byte on; replaced when it grows. */
    public UnsafeBuffer memory() {
        return memory;
    }

    /** Returns the address of the record's first byte: a multiple of 64. Valid until the next growth. */
    public long address() {
        return memory.addressOffset();
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
        return (memory.getByte(Envelope.FLAGS) & TRAILERS) == 0
                ? payload
                : payload - referencesLength() - optionalFieldsLength() - observationsLength() - contextLength();
    }

    /** Returns the size of the references at the payload's end, in bytes; 0 when there are none. */
    int referencesLength() {
        return (memory.getByte(Envelope.FLAGS) & Envelope.REFERENCES) == 0
                ? 0
                : memory.getInt(Envelope.HEADER_LENGTH + payloadLength() - 4, ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the size of the optional fields in front of the references, in bytes; 0 when there are none. */
    int optionalFieldsLength() {
        return (memory.getByte(Envelope.FLAGS) & Envelope.OPTIONAL_FIELDS) == 0
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
        return (memory.getByte(Envelope.FLAGS) & flag) == 0 ? 0 : memory.getInt(end - 4, ByteOrder.LITTLE_ENDIAN);
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
        UnsafeBuffer m = memory;
        m.putInt(Envelope.MAGIC_AT, Envelope.MAGIC | Envelope.VERSION << 16, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.SEQUENCE, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.ID, id, ByteOrder.LITTLE_ENDIAN);
        m.putInt(Envelope.FROM, from & 0xffff | to << 16, ByteOrder.LITTLE_ENDIAN);
        m.putInt(Envelope.TYPE, type.code(), ByteOrder.LITTLE_ENDIAN);
        m.putInt(Envelope.PAYLOAD_LENGTH, payloadLength, ByteOrder.LITTLE_ENDIAN);
        m.putInt(Envelope.SECTION_LENGTH, sectionLength, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.DEADLINE, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.SENT, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.PARENT, MessageId.NONE, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.TRACE_HIGH, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.TRACE_LOW, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.SPAN, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.HANDLER_SEQUENCE, 0, ByteOrder.LITTLE_ENDIAN);
        m.putLong(Envelope.ERROR_KIND, 0, ByteOrder.LITTLE_ENDIAN);
        if (sectionLength > 0) {
            // between payload and section: less than 8 bytes, since the section starts on a multiple of 8
            for (int i = Envelope.HEADER_LENGTH + payloadLength, end = Envelope.sectionOffset(payloadLength);
                    i < end;
                    i++) {
                m.putByte(i, (byte) 0);
            }
        }
        return this;
    }

    /** Returns the type of the record that was begun. */
    public MessageType type() {
        return MessageType.of(Short.toUnsignedInt(memory.getShort(Envelope.TYPE, ByteOrder.LITTLE_ENDIAN)));
    }

    public MessageBuffer flags(int flags) {
        memory.putByte(Envelope.FLAGS, (byte) flags);
        return this;
    }

    /** Sets one more flag. */
    public MessageBuffer addFlag(int flag) {
        return flags(memory.getByte(Envelope.FLAGS) | flag);
    }

    public MessageBuffer deadlineNs(long bootNs) {
        memory.putLong(Envelope.DEADLINE, bootNs, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    /** Sets the time at which the handler of a response's request began; same field as a request's deadline. */
    public MessageBuffer begunNs(long wallNs) {
        memory.putLong(Envelope.DEADLINE, wallNs, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer sentNs(long wallNs) {
        memory.putLong(Envelope.SENT, wallNs, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    /** Sets the deadline of a request by the wall clock, for readers of other boots and hosts; 0 for none. */
    public MessageBuffer dueNs(long wallNs) {
        memory.putLong(Envelope.DUE, wallNs, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    /** Sets the number of the bundle that gives this response; 0 when it is unknown. */
    public MessageBuffer responder(long number) {
        memory.putLong(Envelope.RESPONDER, number, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    /** Sets the failed call that caused the error in this response. */
    public MessageBuffer root(ErrorCode code, long id) {
        memory.putLong(Envelope.ROOT_ID, id, ByteOrder.LITTLE_ENDIAN);
        memory.putShort(Envelope.ROOT_CODE, (short) code.number(), ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer parent(long id) {
        memory.putLong(Envelope.PARENT, id, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer id(long id) {
        memory.putLong(Envelope.ID, id, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    /** Sets the epoch of the receiver's incarnation that a request is for; only the low 32 bits count. */
    public MessageBuffer epoch(long epoch) {
        memory.putInt(Envelope.EPOCH, (int) epoch, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer trace(long high, long low, long span) {
        memory.putLong(Envelope.TRACE_HIGH, high, ByteOrder.LITTLE_ENDIAN);
        memory.putLong(Envelope.TRACE_LOW, low, ByteOrder.LITTLE_ENDIAN);
        memory.putLong(Envelope.SPAN, span, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer handlerSequence(long sequence) {
        memory.putLong(Envelope.HANDLER_SEQUENCE, sequence, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer error(ErrorKind kind, ErrorCode code) {
        memory.putInt(Envelope.ERROR_KIND, kind.code() | code.number() << 16, ByteOrder.LITTLE_ENDIAN);
        return this;
    }

    public MessageBuffer tensorCount(int count) {
        memory.putShort(Envelope.TENSOR_COUNT, (short) count, ByteOrder.LITTLE_ENDIAN);
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
        memory.putLong(Envelope.SEQUENCE, sequence, ByteOrder.LITTLE_ENDIAN);
        memory.putInt(Envelope.CHECKSUM, checksum(), ByteOrder.LITTLE_ENDIAN);
    }

    int checksum() {
        crc.reset();
        bytes.limit(length).position(Envelope.CHECKED_FROM);
        crc.update(bytes);
        bytes.clear();
        return (int) crc.getValue();
    }

    private int payloadLength() {
        return memory.getInt(Envelope.PAYLOAD_LENGTH, ByteOrder.LITTLE_ENDIAN);
    }
}
