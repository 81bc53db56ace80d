package io.waybill.autograd.message;

import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Payload of {@code RREF_BACKWARD_REQ}, whose only reference is that of the root. Layout: docs/reference/autograd-messages.md. */
public record ReferenceBackward(long contextId, boolean keepsGraph, boolean isFast) {

    private static final int HEAD = 9;

    /** Encodes the payload. */
    public ByteBuffer encode() {
        return ByteBuffer.allocate(HEAD)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(contextId)
                .put((byte) ((keepsGraph ? 1 : 0) | (isFast ? 2 : 0)))
                .flip();
    }

    /** Decodes a payload. */
    public static ReferenceBackward decode(ByteBuffer payload) throws RejectedMessageException {
        PayloadReader reader = new PayloadReader("RREF_BACKWARD_REQ", payload, HEAD);
        long contextId = reader.id("context id");
        int flags = reader.u8();
        reader.end();
        if (flags > 3) {
            throw reader.malformed("has flags up to 3, and this one has " + flags);
        }
        return new ReferenceBackward(contextId, (flags & 1) != 0, (flags & 2) != 0);
    }
}
