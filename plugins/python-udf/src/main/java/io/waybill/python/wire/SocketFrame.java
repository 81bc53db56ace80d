package io.waybill.python.wire;

import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * One frame; {@code docs/reference/python-protocol.md} describes its bytes.
 *
 * @param exchange number of its call; 0 for none
 * @param body little-endian, from position 0
 */
public record SocketFrame(Kind kind, long exchange, ByteBuffer body) {

    /** Size of a frame's head, in bytes. */
    public static final int HEAD = 16;

    /** Max length of a body. */
    public static final int MAX_BODY = 1 << 26;

    /** Kinds of frames, in the order of their codes, from 1 on. */
    public enum Kind {
        HELLO,
        WELCOME,
        CALL,
        RESULT,
        FAILED,
        CANCEL,
        RELEASE,
        DROP,
        FORGET,
        LEAVE,
        UNMAP;

        private static final Kind[] BY_ORDINAL = values();

        int code() {
            return ordinal() + 1;
        }

        static Kind of(int code) throws ProtocolException {
            if (code < 1 || code > BY_ORDINAL.length) {
                throw new ProtocolException(
                        "a frame's kind is from 1 to " + BY_ORDINAL.length + ", and " + code + " is none");
            }
            return BY_ORDINAL[code - 1];
        }
    }

    /** Starts a frame whose body has this length: returns the buffer, positioned after the head. */
    public static ByteBuffer start(Kind kind, long exchange, int length) {
        if (length > MAX_BODY) {
            throw new IllegalArgumentException("a frame's body has at most " + MAX_BODY + " bytes, not " + length);
        }
        ByteBuffer frame = ByteBuffer.allocate(HEAD + length).order(ByteOrder.LITTLE_ENDIAN);
        return frame.putInt(length)
                .put((byte) kind.code())
                .put((byte) 0)
                .putShort((short) 0)
                .putLong(exchange);
    }

    /** Returns a frame whose body is one value. */
    public static ByteBuffer of(Kind kind, Value value) {
        byte[] bytes = new ValueEncoder().value(value).toBytes();
        return start(kind, 0, bytes.length).put(bytes).flip();
    }

    /** Returns a frame whose body is a list of numbers. */
    public static ByteBuffer of(Kind kind, long... numbers) {
        ByteBuffer frame = start(kind, 0, Long.BYTES * numbers.length);
        for (long number : numbers) {
            frame.putLong(number);
        }
        return frame.flip();
    }

    /** Returns a frame without a body. */
    public static ByteBuffer empty(Kind kind, long exchange) {
        return start(kind, exchange, 0).flip();
    }

    /** Returns the frame of an error. */
    public static ByteBuffer of(long exchange, ProcessError error) {
        byte[] text = error.text().getBytes(StandardCharsets.UTF_8);
        int length = Math.min(text.length, ProcessError.MAX_TEXT);
        boolean hasRoot = error.rootCode() != 0;
        ByteBuffer frame = start(Kind.FAILED, exchange, 12 + length + (hasRoot ? Long.BYTES : 0))
                .putInt(error.code())
                .put((byte) error.kind())
                .put((byte) 0)
                .putShort((short) error.rootCode())
                .putInt(length)
                .put(text, 0, length);
        return (hasRoot ? frame.putLong(error.rootId()) : frame).flip();
    }

    /** Decodes a body that is one value. */
    public Value value() throws ProtocolException {
        ValueDecoder decoder = new ValueDecoder(body, List.of());
        try {
            Value value = decoder.value();
            decoder.end();
            return value;
        } catch (RejectedMessageException e) {
            throw new ProtocolException("the body of " + kind + " is one value: " + e.getMessage());
        }
    }

    /** Decodes a body that is a list of numbers. */
    public long[] numbers() throws ProtocolException {
        if (body.remaining() % Long.BYTES != 0) {
            throw new ProtocolException(
                    "the body of " + kind + " is a list of 8-byte numbers, and has " + body.remaining() + " bytes");
        }
        long[] numbers = new long[body.remaining() / Long.BYTES];
        body.asLongBuffer().get(numbers);
        return numbers;
    }

    /** Decodes a body that is an error. */
    public ProcessError error() throws ProtocolException {
        int rootCode = body.remaining() < 12 ? 0 : Short.toUnsignedInt(body.getShort(6));
        int length = body.remaining() - 12 - (rootCode == 0 ? 0 : Long.BYTES);
        if (length < 0 || body.getInt(8) != length) {
            throw new ProtocolException(
                    "the body of FAILED has 12 bytes, a text of the length that it names, and with a"
                            + " root 8 bytes more, and this one has " + body.remaining() + " bytes");
        }
        String text = StandardCharsets.UTF_8.decode(body.slice(12, length)).toString();
        long rootId = rootCode == 0 ? MessageId.NONE : body.getLong(12 + length);
        return new ProcessError(body.getInt(0), body.get(4), text, rootCode, rootId);
    }
}
