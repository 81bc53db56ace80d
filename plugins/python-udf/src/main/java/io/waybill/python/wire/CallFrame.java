package io.waybill.python.wire;

import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The parts of a CALL or RESULT before its message.
 *
 * @param type code of the message's type
 * @param flags bit 0: create, or an object was kept
 * @param worker id of the worker that sent or responded
 * @param number message id, or exchange on whose behalf the process calls, or number of an object
 * @param timeNs timeout or time until the deadline; 0 in a RESULT
 * @param to name of the receiver; empty in a RESULT
 */
public record CallFrame(int type, int flags, int worker, long number, long timeNs, String to) {

    /**
     * Bit of {@link #flags}: the call creates the value of a reference; the result is an object that the process keeps.
     */
    public static final int CREATE = 1;

    private static final int CALL = 24;
    private static final int RESULT = 16;

    /**
     * Files and tables that a process and its gateway share besides the socket. The {@code regions} are null when there
     * are none.
     */
    public record Shared(Regions regions, SegmentParts parts, HandleTable references, TensorBuffers buffers)
            implements AutoCloseable {

        /** Releases all but the parts, which the process may have mapped. */
        @Override
        public void close() {
            references.close();
            if (regions != null) {
                regions.close();
            }
        }

        /** Returns how many bytes of tensors are copied when they are sent to the process. */
        public long copiedBytes(List<Tensor> tensors) {
            long bytes = 0;
            for (Tensor tensor : tensors) {
                bytes += parts.mayHave(tensor.storage()) ? 0 : tensor.storage().sizeBytes();
            }
            return bytes;
        }

        /** Returns the same with other memory for what the process sends. */
        public Shared with(TensorBuffers other) {
            return new Shared(regions, parts, references, other);
        }
    }

    /** Returns this as the frame of a call, with its message. */
    public ByteBuffer toCall(
            long exchange, Shared shared, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references)
            throws RejectedMessageException {
        return frame(SocketFrame.Kind.CALL, exchange, shared, new FramedMessage(payload, tensors, references, shared));
    }

    /** Returns this as the frame of a result, with its message. */
    public ByteBuffer toResult(
            long exchange, Shared shared, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references)
            throws RejectedMessageException {
        return frame(
                SocketFrame.Kind.RESULT, exchange, shared, new FramedMessage(payload, tensors, references, shared));
    }

    /** Returns this as the frame of a result that is one reference, whose ownership it takes; it may have failed. */
    public ByteBuffer toReference(long exchange, Shared shared, RRef reference) {
        ByteBuffer frame = SocketFrame.start(
                SocketFrame.Kind.RESULT, exchange, RESULT + FramedMessage.HEAD + FramedMessage.REFERENCE);
        frame.putShort((short) type)
                .putShort((short) flags)
                .putShort((short) worker)
                .putShort((short) 0)
                .putLong(number);
        frame.putInt(0).putInt(0).putInt(1); // no payload, storage and tensor; one reference
        FramedMessage.put(frame, reference, shared.references());
        return frame.flip();
    }

    private ByteBuffer frame(SocketFrame.Kind kind, long exchange, Shared shared, FramedMessage message)
            throws RejectedMessageException {
        boolean done = false;
        try {
            byte[] receiver = to.getBytes(StandardCharsets.UTF_8);
            int head = kind == SocketFrame.Kind.CALL ? CALL + receiver.length : RESULT;
            ByteBuffer frame = SocketFrame.start(kind, exchange, head + message.lengthFrom(head));
            frame.putShort((short) type)
                    .putShort((short) flags)
                    .putShort((short) worker)
                    .putShort((short) receiver.length)
                    .putLong(number);
            if (kind == SocketFrame.Kind.CALL) {
                frame.putLong(timeNs).put(receiver);
            }
            message.put(frame, shared.references());
            done = true;
            return frame.rewind();
        } finally {
            if (!done) {
                message.withdraw(shared);
            }
        }
    }

    /** Reads the parts of a CALL; its body is then at its message. */
    public static CallFrame ofCall(SocketFrame frame) throws ProtocolException {
        ByteBuffer body = frame.body();
        require(body, CALL, frame.kind());
        int type = Short.toUnsignedInt(body.getShort());
        int flags = Short.toUnsignedInt(body.getShort());
        int worker = Short.toUnsignedInt(body.getShort());
        int length = Short.toUnsignedInt(body.getShort());
        long number = body.getLong();
        long timeNs = body.getLong();
        require(body, length, frame.kind());
        String to = StandardCharsets.UTF_8
                .decode(body.slice(body.position(), length))
                .toString();
        body.position(body.position() + length);
        return new CallFrame(type, flags, worker, number, timeNs, to);
    }

    /** Reads the parts of a RESULT; its body is then at its message. */
    public static CallFrame ofResult(SocketFrame frame) throws ProtocolException {
        ByteBuffer body = frame.body();
        require(body, RESULT, frame.kind());
        int type = Short.toUnsignedInt(body.getShort());
        int flags = Short.toUnsignedInt(body.getShort());
        int worker = Short.toUnsignedInt(body.getShort());
        body.getShort();
        return new CallFrame(type, flags, worker, body.getLong(), 0, "");
    }

    /** Returns how many bytes are copied when the message of a RESULT is read, as it says: nothing is checked here. */
    public static long copiedBytes(SocketFrame frame) {
        ByteBuffer body = frame.body();
        int at = RESULT + FramedMessage.HEAD;
        if (frame.kind() != SocketFrame.Kind.RESULT || body.limit() < at) {
            return 0;
        }
        long bytes = 0;
        int storages = Short.toUnsignedInt(body.getShort(RESULT + Integer.BYTES));
        for (int i = 0; i < storages && at + FramedMessage.STORAGE <= body.limit(); i++) {
            boolean copied = body.get(at + 2 * Long.BYTES) < FramedMessage.PART;
            bytes += copied ? Math.max(0, body.getLong(at)) : 0;
            at += FramedMessage.STORAGE;
        }
        return bytes < 0 ? Long.MAX_VALUE : bytes;
    }

    /**
     * Returns the positions of the regions that the message at the position of a frame's body names, as it says:
     * nothing is checked here.
     */
    public static long[] regions(SocketFrame frame) {
        ByteBuffer body = frame.body();
        int at = body.position() + FramedMessage.HEAD;
        LongStream.Builder regions = LongStream.builder();
        int storages = at > body.limit() ? 0 : Short.toUnsignedInt(body.getShort(body.position() + Integer.BYTES));
        for (int i = 0; i < storages && at + FramedMessage.STORAGE <= body.limit(); i++) {
            if (body.get(at + 2 * Long.BYTES) == FramedMessage.REGION) {
                regions.add(body.getLong(at + Long.BYTES));
            }
            at += FramedMessage.STORAGE;
        }
        return regions.build().toArray();
    }

    /** Reads the message behind these parts. */
    public static ProcessMessage message(SocketFrame frame, Shared shared) throws IOException {
        return ProcessMessage.read(frame.body(), shared);
    }

    private static void require(ByteBuffer body, int bytes, SocketFrame.Kind kind) throws ProtocolException {
        if (body.remaining() < bytes) {
            throw new ProtocolException(
                    kind + " needs " + bytes + " more bytes, and " + body.remaining() + " are left in the frame");
        }
    }

    public boolean creates() {
        return (flags & CREATE) != 0;
    }
}
