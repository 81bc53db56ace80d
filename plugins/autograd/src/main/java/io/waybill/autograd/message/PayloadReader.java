package io.waybill.autograd.message;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Reads the head of a payload, whose bytes are untrusted.
 *
 * <p><b>Threads.</b> One. <b>Errors.</b> {@link ErrorCode#MALFORMED_BODY} with what is wrong.
 */
final class PayloadReader {

    private final ByteBuffer bytes;
    private final String name;

    /**
     * Creates a reader of the buffer's remaining bytes.
     *
     * @param name of the message, for errors
     * @throws RejectedMessageException if there are fewer bytes than the head has
     */
    PayloadReader(String name, ByteBuffer payload, int headBytes) throws RejectedMessageException {
        this.bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
        this.name = name;
        if (bytes.remaining() < headBytes) {
            throw malformed("has at least " + headBytes + " bytes, and this one has " + bytes.remaining());
        }
    }

    /** Reads a nonnegative id of a context, a message or a pass. */
    long id(String what) throws RejectedMessageException {
        long id = bytes.getLong();
        if (id < 0) {
            throw malformed("has a " + what + " of 0 or more, and this one has " + id);
        }
        return id;
    }

    int u8() {
        return Byte.toUnsignedInt(bytes.get());
    }

    int u16() {
        return Short.toUnsignedInt(bytes.getShort());
    }

    /** Returns the bytes after the head. */
    ByteBuffer rest() {
        return bytes.slice();
    }

    /**
     * Checks that the payload is complete.
     *
     * @throws RejectedMessageException if further bytes follow
     */
    void end() throws RejectedMessageException {
        if (bytes.hasRemaining()) {
            throw malformed("ends here, and this one has " + bytes.remaining() + " bytes more");
        }
    }

    RejectedMessageException malformed(String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a " + name + " " + what);
    }
}
