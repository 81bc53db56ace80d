package io.waybill.autograd.message;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Payload of {@code BACKWARD_AUTOGRAD_REQ}, and of a {@code BACKWARD_AUTOGRAD_RESP} that is not empty, which has gradients. Layout:
 * docs/reference/autograd-messages.md.
 *
 * @param isPassedOn whether nothing else of the pass is in flight: the receiver finds out what follows, and responds when that has ended
 * @param mayReturn whether the response may have gradients for a message that the sender of this one has sent
 * @param content the content
 */
public record BackwardMessage(
        long contextId,
        long passId,
        long messageId,
        Kind kind,
        boolean keepsGraph,
        boolean isFast,
        boolean isPassedOn,
        boolean mayReturn,
        Value content) {

    /** Kind of the message. */
    public enum Kind {
        /** Feeds a send function with gradients. */
        GRADIENTS,
        /** Queries the send functions that take part in a pass, before the computation. */
        DISCOVER,
        /** Ends a pass that has failed elsewhere. */
        FAILED,
        /** Notifies the driver that the sender has the context. Refused if the driver has released it. */
        HELD
    }

    private static final int HEAD = 28;
    private static final int KEEPS_GRAPH = 1;
    private static final int FAST = 2;
    private static final int PASSED_ON = 4;
    private static final int MAY_RETURN = 8;
    private static final Kind[] KINDS = Kind.values();

    /** Creates a message that does not pass the pass on, and whose response is empty. */
    public BackwardMessage(
            long contextId, long passId, long messageId, Kind kind, boolean keepsGraph, boolean isFast, Value content) {
        this(contextId, passId, messageId, kind, keepsGraph, isFast, false, false, content);
    }

    /** Encoded payload with its tensors, in the order of their indices. */
    public record Encoded(ByteBuffer payload, List<Tensor> tensors) {

        /** Releases a count of each tensor's storage. */
        public void release() {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }

    /** Returns the message of a worker that has a context. */
    public static BackwardMessage held(long contextId) {
        return new BackwardMessage(contextId, 0, 0, Kind.HELD, false, false, Value.NONE);
    }

    /** Returns the gradients, one for each tensor; {@link Value#NONE} for a missing one. */
    public List<Value> gradients() {
        return ((Value.Items) content).values();
    }

    /** Returns whether the message may be the first one of the pass here. */
    public boolean entersPass() {
        return kind == Kind.DISCOVER || isPassedOn;
    }

    /** Returns the content of a failure. */
    public static Value failed(ErrorCode code, String text) {
        return Value.tuple(Value.of(code.number()), Value.of(text));
    }

    /** Returns the code of a failure; {@link ErrorCode#UNKNOWN} if this worker does not know the sender's code. */
    public ErrorCode failureCode() {
        long number = ((Value.Int) ((Value.Tuple) content).values().get(0)).value();
        return number == (int) number ? ErrorCode.of((int) number) : ErrorCode.UNKNOWN;
    }

    /** Returns the text of a failure. */
    public String failure() {
        return ((Value.Text) ((Value.Tuple) content).values().get(1)).value();
    }

    /** Encodes the message to payload and tensors. */
    public Encoded encode() {
        ValueEncoder encoder = new ValueEncoder().value(content);
        byte[] value = encoder.toBytes();
        ByteBuffer bytes = ByteBuffer.allocate(HEAD + value.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(contextId).putLong(passId).putLong(messageId);
        bytes.put((byte) kind.ordinal()).put((byte) flags());
        bytes.putShort((short) 0).put(value);
        return new Encoded(bytes.flip(), List.copyOf(encoder.tensors()));
    }

    private int flags() {
        return (keepsGraph ? KEEPS_GRAPH : 0)
                | (isFast ? FAST : 0)
                | (isPassedOn ? PASSED_ON : 0)
                | (mayReturn ? MAY_RETURN : 0);
    }

    /**
     * Decodes the payload of a request.
     *
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} if it is malformed
     */
    public static BackwardMessage decode(ByteBuffer payload, List<Tensor> tensors) throws RejectedMessageException {
        return decode(new PayloadReader("BACKWARD_AUTOGRAD_REQ", payload, HEAD), tensors);
    }

    /**
     * Decodes the payload of a response that is not empty.
     *
     * @param request request of the response
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} if it is malformed, or does not fit the request
     */
    public static BackwardMessage decodeResponse(BackwardMessage request, ByteBuffer payload, List<Tensor> tensors)
            throws RejectedMessageException {
        PayloadReader reader = new PayloadReader("BACKWARD_AUTOGRAD_RESP", payload, HEAD);
        BackwardMessage response = decode(reader, tensors);
        boolean isExpected = request.mayReturn
                && response.kind == Kind.GRADIENTS
                && response.contextId == request.contextId
                && response.passId == request.passId
                && (request.isPassedOn || !response.isPassedOn);
        if (!isExpected) {
            throw reader.malformed(
                    "has gradients of the pass of its request, which may be passed back if it was passed on, and this one is a "
                            + response.kind + " of pass " + response.passId + " of context " + response.contextId);
        }
        return response;
    }

    private static BackwardMessage decode(PayloadReader reader, List<Tensor> tensors) throws RejectedMessageException {
        long contextId = reader.id("context id");
        long passId = reader.id("pass id");
        long messageId = reader.id("message id");
        int kind = reader.u8();
        int flags = reader.u8();
        int known = KEEPS_GRAPH | FAST;
        if (kind == Kind.GRADIENTS.ordinal()) {
            known |= MAY_RETURN | ((flags & FAST) == 0 ? PASSED_ON : 0);
        }
        if (kind >= KINDS.length || (flags & ~known) != 0 || reader.u16() != 0) {
            throw reader.malformed(
                    "has a kind up to 3, flags up to 3, for gradients also 4 unless it is FAST and 8, and then 0, and this one has kind "
                            + kind + " and flags " + flags);
        }
        ValueDecoder decoder = new ValueDecoder(reader.rest(), tensors);
        Value content = decoder.value();
        decoder.end();
        boolean fits = switch (KINDS[kind]) {
            case GRADIENTS -> isGradients(content);
            case DISCOVER, HELD -> content instanceof Value.None;
            case FAILED -> isFailure(content);
        };
        if (!fits) {
            throw reader.malformed("of the kind " + KINDS[kind] + " has another value");
        }
        return new BackwardMessage(
                contextId,
                passId,
                messageId,
                KINDS[kind],
                (flags & KEEPS_GRAPH) != 0,
                (flags & FAST) != 0,
                (flags & PASSED_ON) != 0,
                (flags & MAY_RETURN) != 0,
                content);
    }

    private static boolean isFailure(Value content) {
        return content instanceof Value.Tuple tuple
                && tuple.values().size() == 2
                && tuple.values().get(0) instanceof Value.Int
                && tuple.values().get(1) instanceof Value.Text;
    }

    private static boolean isGradients(Value content) {
        return content instanceof Value.Items items
                && items.values().stream()
                        .allMatch(value -> value instanceof Value.None
                                || value instanceof Value.OfTensor
                                || value instanceof Value.OfSparse);
    }
}
