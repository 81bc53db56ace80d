package io.waybill.autograd.message;

import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Payload of {@code CLEANUP_AUTOGRAD_CONTEXT_REQ}: the id of a context, as an i64. Stateless. */
public final class ContextMessage {

    private ContextMessage() {}

    /** Encodes the id. */
    public static ByteBuffer encode(long contextId) {
        return ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(contextId)
                .flip();
    }

    /** Decodes the id. */
    public static long decode(ByteBuffer payload) throws RejectedMessageException {
        PayloadReader reader = new PayloadReader("CLEANUP_AUTOGRAD_CONTEXT_REQ", payload, Long.BYTES);
        long contextId = reader.id("context id");
        reader.end();
        return contextId;
    }
}
