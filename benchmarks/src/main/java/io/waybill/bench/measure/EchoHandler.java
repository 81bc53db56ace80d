package io.waybill.bench.measure;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;

/**
 * The called handler: it does some work and returns its input, the field {@value #FIELD} of a call by name, the payload
 * of all others. Stateless.
 *
 * @param kind how it is declared
 */
public record EchoHandler(Kind kind, Work work) implements MessageHandler {

    /** The field of a call by name, and of its response. */
    public static final String FIELD = "data";

    /** Declaration of a handler. */
    public enum Kind {
        /** Without an annotation: it may block. */
        PLAIN,
        /** {@code @NonBlocking}. */
        NON_BLOCKING
    }

    /** Non-blocking, and at once. */
    public static final EchoHandler EMPTY = new EchoHandler(Kind.NON_BLOCKING, Work.NONE);

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type().equals(MessageType.NAMED_CALL)) {
            respond(message, outbox);
        } else if (work.isNone()) {
            outbox.respond(message.payload());
        } else {
            byte[] data = new byte[message.payload().remaining()];
            message.payload().get(data);
            work.perform(data);
            outbox.respond(ByteBuffer.wrap(data));
        }
    }

    /** Responds with the field of a call by name, a tensor or bytes. */
    private void respond(Message message, Outbox outbox) throws RejectedMessageException {
        if (!message.tensors().isEmpty()) {
            Tensor tensor = message.tensor(FIELD);
            tensor.storage().retain();
            outbox.response().tensor(FIELD, tensor);
            return;
        }
        byte[] data = message.bytes(FIELD);
        work.perform(data);
        outbox.response().bytes(FIELD, ByteBuffer.wrap(data));
    }

    public boolean isNonBlocking() {
        return kind == Kind.NON_BLOCKING;
    }

    /** Returns this handler, with the annotation if it is non-blocking: for a worker that checks for it. */
    public MessageHandler declared() {
        return isNonBlocking() ? new Declared(this) : this;
    }

    @NonBlocking
    private record Declared(EchoHandler echo) implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            echo.handle(message, outbox);
        }
    }

    /** The argument of a process, for {@link #parse}. */
    public String argument() {
        return kind + ":" + work.workMicros() + ":" + work.sleepMicros();
    }

    /** Returns the handler of an {@link #argument}. */
    public static EchoHandler parse(String argument) {
        String[] parts = argument.split(":");
        return new EchoHandler(
                Kind.valueOf(parts[0]), new Work(Integer.parseInt(parts[1]), Integer.parseInt(parts[2])));
    }
}
