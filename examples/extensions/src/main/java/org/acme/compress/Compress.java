package org.acme.compress;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import org.osgi.service.component.annotations.Component;

/**
 * Sends large calls of {@code text.*} compressed, in messages of type 0x1c0: the type of the message inside (2 bytes),
 * the length of its payload (4 bytes), and the payload. For both sides: the caller needs the interceptor, the callee
 * the handler.
 */
@Component
@InterceptsMessage("text.*")
@HandlesMessage("0x1c0")
public final class Compress implements CallInterceptor, MessageHandler {

    private static final MessageType ENVELOPE = MessageType.userRequest(0xc0);
    private static final int MIN_BYTES = 1024;
    private static final int MAX_BYTES = 64 << 20;

    @Override
    public void onRequest(OutgoingCall call) {
        if (call.payload().remaining() >= MIN_BYTES) {
            call.attach(ENVELOPE);
            call.wrap(ENVELOPE, compressed(call.type(), call.payload()));
        }
    }

    @Override
    public void onResponse(IncomingResponse response) throws RejectedMessageException {
        if (response.attachment() != null) {
            ByteBuffer envelope = response.response().payload();
            response.unwrap(type(envelope), expanded(envelope));
        }
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        ByteBuffer envelope = message.payload();
        try (Response inner =
                outbox.dispatch(type(envelope), expanded(envelope), message.tensors(), message.references())) {
            inner.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(compressed(inner.type(), inner.payload()), inner.tensors(), inner.references());
        }
    }

    private static MessageType type(ByteBuffer envelope) throws RejectedMessageException {
        if (envelope.remaining() < Short.BYTES || !MessageType.isKnown(envelope.getShort(envelope.position()))) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a compressed message begins with a type");
        }
        return MessageType.of(envelope.getShort(envelope.position()));
    }

    private static ByteBuffer compressed(MessageType type, ByteBuffer payload) {
        int length = payload.remaining();
        ByteBuffer envelope = ByteBuffer.allocate(length + length / 1000 + 64); // more than deflate ever adds
        envelope.putShort((short) type.code()).putInt(length);
        Deflater deflater = new Deflater(Deflater.BEST_SPEED);
        deflater.setInput(payload);
        deflater.finish();
        deflater.deflate(envelope);
        deflater.end();
        return envelope.flip();
    }

    private static ByteBuffer expanded(ByteBuffer envelope) throws RejectedMessageException {
        ByteBuffer input = envelope.duplicate();
        int length = input.remaining() < 6 ? -1 : input.getInt(input.position() + Short.BYTES);
        if (length < 0 || length > MAX_BYTES) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a message of " + length + " bytes");
        }
        ByteBuffer payload = ByteBuffer.allocate(length);
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(input.position(input.position() + 6));
            inflater.inflate(payload);
        } catch (DataFormatException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "not compressed: " + e.getMessage(), e);
        } finally {
            inflater.end();
        }
        return payload.flip();
    }
}
