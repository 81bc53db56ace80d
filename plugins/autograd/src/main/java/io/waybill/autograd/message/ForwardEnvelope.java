package io.waybill.autograd.message;

import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;

/**
 * Payload of {@code FORWARD_AUTOGRAD_REQ} and {@code FORWARD_AUTOGRAD_RESP}: a message of a context with another message inside, whose tensors
 * and references are those of the outer one. Layout: docs/reference/autograd-messages.md.
 *
 * @param contextId 0 or more
 * @param messageId of the send function at the sender, and of the receive function here; 0 for none
 * @param type of the inner message
 * @param payload of the inner message, read-only
 */
public record ForwardEnvelope(long contextId, long messageId, MessageType type, ByteBuffer payload) {

    private static final int HEAD = 20;

    /** Returns whether the message has tensors that require a gradient. */
    public boolean isOfGraph() {
        return messageId != 0;
    }

    /** Returns the payload of the outer message. */
    public ByteBuffer encode() {
        ByteBuffer bytes = ByteBuffer.allocate(HEAD + payload.remaining()).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(contextId)
                .putLong(messageId)
                .putShort((short) type.code())
                .putShort((short) 0);
        return bytes.put(payload.duplicate()).flip();
    }

    /**
     * Decodes the payload of a request.
     *
     * @throws RejectedMessageException when it is malformed, or the inner message is not a request
     */
    public static ForwardEnvelope request(ByteBuffer payload) throws RejectedMessageException {
        return decode(payload, true);
    }

    /**
     * Decodes the payload of a response.
     *
     * @throws RejectedMessageException when it is malformed, or the inner message is not a response
     */
    public static ForwardEnvelope response(ByteBuffer payload) throws RejectedMessageException {
        return decode(payload, false);
    }

    private static ForwardEnvelope decode(ByteBuffer payload, boolean isRequest) throws RejectedMessageException {
        String name = isRequest ? "FORWARD_AUTOGRAD_REQ" : "FORWARD_AUTOGRAD_RESP";
        PayloadReader reader = new PayloadReader(name, payload, HEAD);
        long contextId = reader.id("context id");
        long messageId = reader.id("message id");
        int code = reader.u16();
        int reserved = reader.u16();
        if (reserved != 0) {
            throw reader.malformed("has 0 behind the type, and this one has " + reserved);
        }
        if (!MessageType.isKnown(code) || isRequest != MessageType.of(code).isRequest()) {
            throw reader.malformed(String.format(
                    Locale.ROOT,
                    "has a %s inside, and this one has the type 0x%x",
                    isRequest ? "request" : "response",
                    code));
        }
        return new ForwardEnvelope(contextId, messageId, MessageType.of(code), reader.rest());
    }
}
