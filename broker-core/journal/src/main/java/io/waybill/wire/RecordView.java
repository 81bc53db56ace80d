package io.waybill.wire;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;
import org.agrona.UnsafeApi;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reads the record in a {@link MessageBuffer}. {@link #check} decides whether the bytes are a record; the getters may
 * be used after it returned, and not before.
 *
 * <p>A flyweight: allocates nothing, belongs to the buffer's thread, and always shows the buffer's content.
 */
public final class RecordView {

    private final MessageBuffer buffer;
    private final UnsafeBuffer memory;

    public RecordView(MessageBuffer buffer) {
        this.buffer = buffer;
        this.memory = buffer.memory();
    }

    /**
     * Checks lengths, checksum and fields.
     *
     * @throws MalformedRecordException with what was expected and what was found
     */
    public void check() throws MalformedRecordException {
        int length = buffer.length();
        if (length < Envelope.HEADER_LENGTH) {
            throw new MalformedRecordException(
                    "a record has at least " + Envelope.HEADER_LENGTH + " bytes, this one " + length);
        }
        int magic = u16(Envelope.MAGIC_AT);
        if (magic != Envelope.MAGIC) {
            throw new MalformedRecordException(String.format(
                    Locale.ROOT, "a record has the magic 0x%x at offset 4, this one 0x%x", Envelope.MAGIC, magic));
        }
        int found = int32(Envelope.CHECKSUM);
        int expected = buffer.checksum();
        if (found != expected) {
            throw new MalformedRecordException(String.format(
                    Locale.ROOT,
                    "the checksum of the %d bytes is 0x%08x, and 0x%08x is written",
                    length,
                    expected,
                    found));
        }
        int version = int8(Envelope.VERSION_AT) & 0xff;
        if (version != Envelope.VERSION) {
            throw new MalformedRecordException(
                    "the record has version " + version + "; this Waybill reads version " + Envelope.VERSION);
        }
        checkFields(length);
    }

    private void checkFields(int length) throws MalformedRecordException {
        long payload = Integer.toUnsignedLong(int32(Envelope.PAYLOAD_LENGTH));
        long section = Integer.toUnsignedLong(int32(Envelope.SECTION_LENGTH));
        if (Envelope.recordLength(payload, section) != length) {
            throw new MalformedRecordException("a payload of " + payload + " bytes and a tensor section of " + section
                    + " bytes make a record of " + Envelope.recordLength(payload, section) + " bytes, not " + length);
        }
        int tensors = tensorCount();
        if (tensors > Envelope.MAX_TENSORS || (tensors == 0) != (section == 0)) {
            throw new MalformedRecordException("a record has at most " + Envelope.MAX_TENSORS
                    + " tensors, and a tensor section when it has any: " + tensors + " tensors, section of " + section
                    + " bytes");
        }
        int flags = int8(Envelope.FLAGS);
        if ((flags & (Envelope.TRAILERS | Envelope.CREATES)) != 0) {
            checkTrailers(payload);
        }
        if ((flags & ~Envelope.KNOWN_FLAGS) != 0 || int8(Envelope.RESERVED_BYTE) != 0) {
            throw new MalformedRecordException("a flag or a reserved byte is set that version 1 does not know");
        }
        if (!MessageType.isKnown(typeCode())) {
            throw new MalformedRecordException(
                    String.format(Locale.ROOT, "no message type has the code 0x%x", typeCode()));
        }
    }

    private void checkTrailers(long payload) throws MalformedRecordException {
        if (hasReferences()) {
            checkReferences(payload);
        }
        long before = payload - buffer.referencesLength();
        if (hasOptionalFields()) {
            OptionalFields.check(memory, Envelope.HEADER_LENGTH, Envelope.HEADER_LENGTH + (int) before);
            before -= buffer.optionalFieldsLength();
        }
        if (hasObservations()) {
            checkObservations(before);
        }
        if (hasContext()) {
            checkContext(before);
        }
        if (isAroundCreation() && (!hasReferences() || (typeCode() & MessageType.REQUEST_FLAG) == 0)) {
            throw new MalformedRecordException("a request with references is around a creation, and this is not one");
        }
    }

    private void checkReferences(long payload) throws MalformedRecordException {
        int length = payload < Envelope.REFERENCES_END ? 0 : buffer.referencesLength();
        if (length < Envelope.REFERENCES_END || length > payload) {
            throw new MalformedRecordException("references at the end of a payload of " + payload
                    + " bytes have at least " + Envelope.REFERENCES_END + " of them, these " + length);
        }
    }

    private void checkObservations(long before) throws MalformedRecordException {
        int length = before < Observations.END_LENGTH ? 0 : buffer.observationsLength();
        int end = Envelope.HEADER_LENGTH + (int) before - Observations.END_LENGTH;
        int count = length == 0 ? 0 : Short.toUnsignedInt(memory.getShort(end, ByteOrder.LITTLE_ENDIAN));
        int more = length == 0 ? 0 : Short.toUnsignedInt(memory.getShort(end + 2, ByteOrder.LITTLE_ENDIAN));
        if (count > Observations.MAX || length != Observations.length(count) || length > before || more > 1) {
            throw new MalformedRecordException(count + " observations, of at most " + Observations.MAX + ", have "
                    + Observations.length(count) + " of the " + before + " bytes that end with them, and these "
                    + length
                    + "; whether there were more is 0 or 1, and here " + more);
        }
        if ((typeCode() & MessageType.RESPONSE_FLAG) == 0) {
            throw new MalformedRecordException("a response has observations, and this is a request");
        }
    }

    private void checkContext(long before) throws MalformedRecordException {
        if ((typeCode() & MessageType.REQUEST_FLAG) == 0 || hasObservations()) {
            throw new MalformedRecordException("a request has a context, and this is a response");
        }
        boolean hasId = (traceHigh() | traceLow()) != 0;
        if (hasId != (span() != 0)) {
            throw new MalformedRecordException("a record has a trace id if and only if it has a span id");
        }
        ContextBlock.check(memory, Envelope.HEADER_LENGTH, Envelope.HEADER_LENGTH + (int) before, hasId);
    }

    /** Returns whether the payload ends with the context of the call, before the references. */
    public boolean hasContext() {
        return (int8(Envelope.FLAGS) & Envelope.CONTEXT) != 0;
    }

    /**
     * Returns the context that is current while the handler of this request runs; its trace has the request as its
     * span.
     */
    public CallContext context() {
        return hasContext()
                ? ContextBlock.read(memory, contextOffset(), buffer.contextLength(), this)
                : CallContext.EMPTY;
    }

    /** Returns the id of the span that the call was made from; 0 without a trace. */
    public long callerSpan() {
        return hasContext() && span() != 0 ? memory.getLong(contextOffset(), ByteOrder.LITTLE_ENDIAN) : 0;
    }

    /** Returns whether the request belongs to a trace that is recorded. */
    public boolean isSampled() {
        return hasContext() && span() != 0 && ContextBlock.isSampled(memory, contextOffset());
    }

    private int contextOffset() {
        return Envelope.HEADER_LENGTH + buffer.valuesLength();
    }

    /** Returns whether the payload ends with optional fields, before the references. */
    public boolean hasOptionalFields() {
        return (int8(Envelope.FLAGS) & Envelope.OPTIONAL_FIELDS) != 0;
    }

    /** Returns a copy of the optional fields, those of unknown kinds too. */
    public OptionalFields optionalFields() {
        int length = buffer.optionalFieldsLength();
        int end = Envelope.HEADER_LENGTH + payloadLength() - buffer.referencesLength();
        return hasOptionalFields() ? OptionalFields.read(memory, end - length, length) : OptionalFields.NONE;
    }

    /** Returns whether the payload ends with the handler's observations, before the references. */
    public boolean hasObservations() {
        return (int8(Envelope.FLAGS) & Envelope.OBSERVATIONS) != 0;
    }

    /**
     * Returns what the handler observed until it gave this response.
     *
     * @throws MalformedRecordException when there is something that this version does not know
     */
    public Observations observations() throws MalformedRecordException {
        if (!hasObservations()) {
            return Observations.NONE;
        }
        byte[] bytes = new byte[buffer.observationsLength()];
        memory.getBytes(Envelope.HEADER_LENGTH + buffer.valuesLength(), bytes);
        return Observations.decode(bytes);
    }

    /** Returns whether references are at the end of the payload. */
    public boolean hasReferences() {
        return (int8(Envelope.FLAGS) & Envelope.REFERENCES) != 0;
    }

    /**
     * Returns whether the last reference is the reference to the value that this request, or a message inside it,
     * creates.
     */
    public boolean isCreation() {
        return isCreating(typeCode()) || isAroundCreation();
    }

    /** Returns whether requests of the type with this code leave their result on the receiver. */
    public static boolean isCreating(int typeCode) {
        return MessageType.isKnown(typeCode) && MessageType.of(typeCode).isCreating();
    }

    /** Returns whether a message inside this request creates a value. */
    public boolean isAroundCreation() {
        return (int8(Envelope.FLAGS) & Envelope.CREATES) != 0;
    }

    /** Returns a copy of the references at the end of the payload. */
    public ByteBuffer copyReferences() {
        byte[] copy = new byte[buffer.referencesLength()];
        memory.getBytes(Envelope.HEADER_LENGTH + payloadLength() - copy.length, copy);
        return ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN);
    }

    public long sequence() {
        return int64(Envelope.SEQUENCE);
    }

    /** Returns the message id, as {@link MessageId} describes it. */
    public long id() {
        return int64(Envelope.ID);
    }

    public int from() {
        return u16(Envelope.FROM);
    }

    public int to() {
        return u16(Envelope.TO);
    }

    /** Returns the low 32 bits of the epoch of the receiver's incarnation that a request is for. */
    public long epoch() {
        return Integer.toUnsignedLong(int32(Envelope.EPOCH));
    }

    public int typeCode() {
        return u16(Envelope.TYPE);
    }

    public MessageType type() {
        return MessageType.of(typeCode());
    }

    public boolean isRepeated() {
        return (int8(Envelope.FLAGS) & Envelope.REPEATED) != 0;
    }

    /**
     * Returns for a request whether a later incarnation of its receiver may run it; for a response whether an earlier
     * one of its sender may have begun the request.
     */
    public boolean isAcrossIncarnations() {
        return (int8(Envelope.FLAGS) & Envelope.ACROSS_INCARNATIONS) != 0;
    }

    public int tensorCount() {
        return u16(Envelope.TENSOR_COUNT);
    }

    public int payloadLength() {
        return int32(Envelope.PAYLOAD_LENGTH);
    }

    /**
     * Returns the payload without context, observations and references, read-only: the same object at every call,
     * positioned again.
     */
    public ByteBuffer payload() {
        return buffer.payload();
    }

    /**
     * Returns the same bytes as {@link #payload}, little-endian: another object, the same one at every call, whose
     * position stays 0. For the broker alone.
     */
    public ByteBuffer values() {
        return buffer.values();
    }

    /** Returns a copy of the payload without context, observations and references. */
    public byte[] copyPayload() {
        byte[] copy = new byte[buffer.valuesLength()];
        memory.getBytes(Envelope.HEADER_LENGTH, copy);
        return copy;
    }

    public int sectionOffset() {
        return Envelope.sectionOffset(payloadLength());
    }

    public int sectionLength() {
        return int32(Envelope.SECTION_LENGTH);
    }

    /**
     * Returns for a response the time at which the request's handler began, by the wall clock; 0 when none did, or when
     * it ran on the polling thread.
     */
    public long begunNs() {
        return int64(Envelope.DEADLINE);
    }

    /** Returns the deadline of a request on CLOCK_BOOTTIME; 0 for none. */
    public long deadlineNs() {
        return int64(Envelope.DEADLINE);
    }

    /** Returns the time at which the message was sent, by the wall clock. */
    public long sentNs() {
        return int64(Envelope.SENT);
    }

    public long parent() {
        return int64(Envelope.PARENT);
    }

    public long traceHigh() {
        return int64(Envelope.TRACE_HIGH);
    }

    public long traceLow() {
        return int64(Envelope.TRACE_LOW);
    }

    public long span() {
        return int64(Envelope.SPAN);
    }

    /**
     * Returns the deadline of a request by the wall clock, as it was when the request was sent; 0 for none, or when it
     * is unknown.
     */
    public long dueNs() {
        return int64(Envelope.DUE);
    }

    /**
     * Returns the number of the bundle that gave this response, as in its sender's {@code responders}; 0 when it is
     * unknown.
     */
    public long responder() {
        return int64(Envelope.RESPONDER);
    }

    /** Returns whether the failure of another call caused the error in this response. */
    public boolean hasRoot() {
        return u16(Envelope.ROOT_CODE) != 0;
    }

    /** Returns the code of the call whose failure caused the error; the error's own code when no call did. */
    public ErrorCode rootCode() {
        return hasRoot() ? ErrorCode.of(u16(Envelope.ROOT_CODE)) : errorCode();
    }

    /** Returns the id of the call whose failure caused the error; the id of this response when no call did. */
    public long rootId() {
        return hasRoot() ? int64(Envelope.ROOT_ID) : id();
    }

    public long handlerSequence() {
        return int64(Envelope.HANDLER_SEQUENCE);
    }

    public ErrorKind errorKind() {
        return ErrorKind.of(int8(Envelope.ERROR_KIND) & 0xff);
    }

    public ErrorCode errorCode() {
        return ErrorCode.of(u16(Envelope.ERROR_CODE));
    }

    /** Returns the buffer that the view reads. */
    public MessageBuffer buffer() {
        return buffer;
    }

    private int int8(int at) {
        return UnsafeApi.getByte(null, buffer.address + at);
    }

    private int u16(int at) {
        return UnsafeApi.getShort(null, buffer.address + at) & 0xffff;
    }

    private int int32(int at) {
        return UnsafeApi.getInt(null, buffer.address + at);
    }

    private long int64(int at) {
        return UnsafeApi.getLong(null, buffer.address + at);
    }
}
