package io.waybill.profiler.message;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;

/**
 * Payload of {@code RUN_WITH_PROFILING_REQ}: a profiled call around an inner request, whose tensors and references are
 * those of the outer one. Layout: docs/reference/profiling-messages.md.
 *
 * @param type of the inner message
 * @param payload of the inner message, read-only
 */
public record ProfilingRequest(ProfilingId id, ProfilerConfig config, MessageType type, ByteBuffer payload) {

    private static final int HEAD = 16;
    private static final int SHAPES = 1;
    private static final int MEMORY = 2;

    /** Encodes the payload of the outer message. */
    public ByteBuffer encode() {
        ByteBuffer bytes = ByteBuffer.allocate(HEAD + payload.remaining()).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(id.base())
                .putInt(id.number())
                .put((byte) config.state().number())
                .put((byte) ((config.reportInputShapes() ? SHAPES : 0) | (config.profileMemory() ? MEMORY : 0)))
                .putShort((short) type.code());
        return bytes.put(payload.duplicate()).flip();
    }

    /**
     * Decodes the payload of a request.
     *
     * @throws RejectedMessageException if it is malformed, or the inner message is not a request
     */
    public static ProfilingRequest decode(ByteBuffer payload) throws RejectedMessageException {
        ByteBuffer bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (bytes.remaining() < HEAD) {
            throw malformed("has at least " + HEAD + " bytes, and this one has " + bytes.remaining());
        }
        ProfilingId id = new ProfilingId(bytes.getLong(), bytes.getInt());
        int state = Byte.toUnsignedInt(bytes.get());
        int flags = Byte.toUnsignedInt(bytes.get());
        int code = Short.toUnsignedInt(bytes.getShort());
        if (flags > (SHAPES | MEMORY)) {
            throw malformed("has flags up to " + (SHAPES | MEMORY) + ", and this one has " + flags);
        }
        if (!MessageType.isKnown(code) || !MessageType.of(code).isRequest()) {
            throw malformed(String.format(Locale.ROOT, "has a request inside, and this one has the type 0x%x", code));
        }
        ProfilerConfig config = new ProfilerConfig(state(state), (flags & SHAPES) != 0, (flags & MEMORY) != 0);
        return new ProfilingRequest(id, config, MessageType.of(code), bytes.slice());
    }

    private static ProfilerState state(int number) throws RejectedMessageException {
        for (ProfilerState state : ProfilerState.values()) {
            if (state.number() == number) {
                return state;
            }
        }
        throw malformed("has the number of a state, and this one has " + number);
    }

    private static RejectedMessageException malformed(String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a RUN_WITH_PROFILING_REQ " + what);
    }
}
