package io.waybill.profiler.message;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.profiler.profile.ProfileEvent;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * Payload of {@code RUN_WITH_PROFILING_RESP}: the outcome of a profiled call, with the inner response or error, and the
 * events of the callee. Layout: docs/reference/profiling-messages.md.
 *
 * @param type of the inner response; {@link MessageType#EXCEPTION} for an error
 * @param payload of the inner response, read-only; of an error, its number and its text
 * @param dropped number of events for which there was no room
 * @param events each one after the one that caused it
 */
public record ProfilingResponse(
        ProfilingId id, MessageType type, ByteBuffer payload, long dropped, List<ProfileEvent> events) {

    private static final int HEAD = 20;

    /** Creates the outcome of a call that failed. */
    public static ProfilingResponse failed(
            ProfilingId id, ErrorCode code, String text, long dropped, List<ProfileEvent> events) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteBuffer error = ByteBuffer.allocate(Integer.BYTES + bytes.length).order(ByteOrder.LITTLE_ENDIAN);
        error.putInt(code.number()).put(bytes).flip();
        return new ProfilingResponse(id, MessageType.EXCEPTION, error, dropped, events);
    }

    /**
     * Encodes the payload of the outer message. Events that don't fit into 512 KiB are dropped, the last ones first.
     */
    public ByteBuffer encode() {
        int head = HEAD + payload.remaining() + EventBytes.HEAD;
        EventBytes encoded = EventBytes.encode(events, head);
        ByteBuffer bytes = encoded.bytes().position(0);
        bytes.putLong(id.base())
                .putInt(id.number())
                .putShort((short) type.code())
                .putShort((short) 0)
                .putInt(payload.remaining())
                .put(payload.duplicate())
                .putLong(dropped + events.size() - encoded.count())
                .putInt(encoded.count());
        return bytes.position(0);
    }

    /**
     * Decodes the payload of a response.
     *
     * @throws RejectedMessageException if it is malformed, or the inner message is not a response
     */
    public static ProfilingResponse decode(ByteBuffer payload) throws RejectedMessageException {
        ByteBuffer bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (bytes.remaining() < HEAD) {
            throw malformed("has at least " + HEAD + " bytes, and this one has " + bytes.remaining());
        }
        ProfilingId id = new ProfilingId(bytes.getLong(), bytes.getInt());
        int code = Short.toUnsignedInt(bytes.getShort());
        int reserved = bytes.getShort();
        int length = bytes.getInt();
        if (reserved != 0) {
            throw malformed("has 0 behind the type, and this one has " + reserved);
        }
        if (!MessageType.isKnown(code) || !MessageType.of(code).isResponse()) {
            throw malformed(String.format(Locale.ROOT, "has a response inside, and this one has the type 0x%x", code));
        }
        if (length < 0 || length > bytes.remaining() - EventBytes.HEAD) {
            throw malformed("has a response inside and events behind it, and this one has " + bytes.remaining()
                    + " bytes for a response of " + length);
        }
        ByteBuffer inner = bytes.slice(bytes.position(), length);
        bytes.position(bytes.position() + length);
        long dropped = bytes.getLong();
        if (dropped < 0) {
            throw malformed("has a number of dropped events, and this one has " + dropped);
        }
        return new ProfilingResponse(id, MessageType.of(code), inner, dropped, EventBytes.decode(bytes));
    }

    /** Returns the inner error. */
    public RejectedMessageException error() throws RejectedMessageException {
        ByteBuffer error = payload.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        if (error.remaining() < Integer.BYTES) {
            throw malformed("has an error with a number inside, and this one has " + error.remaining() + " bytes");
        }
        ErrorCode code = ErrorCode.of(error.getInt());
        return new RejectedMessageException(
                code, StandardCharsets.UTF_8.decode(error).toString());
    }

    static RejectedMessageException malformed(String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a RUN_WITH_PROFILING_RESP " + what);
    }
}
