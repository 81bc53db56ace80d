package io.waybill.rref.control;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * Control message of remote references, of one of three types. Its payload is created once, so that every attempt to
 * send it sends the same bytes: a tuple of ints and strings, which {@code docs/reference/values.md} describes.
 * Immutable.
 */
public final class ControlMessage {

    private static final int DELETE_FIELDS = 4;
    private static final int FAILED_DELETE_FIELDS = 7;
    private static final int REQUEST_FIELDS = 5;
    private static final int ACCEPT_FIELDS = 2;

    private final MessageType type;
    private final RRefId rref; // null in an accept
    private final ForkId fork;
    private final int ownerEpoch;
    private final CallException failure; // null unless it contains the error of a creation
    private final byte[] payload;

    private ControlMessage(
            MessageType type, RRefId rref, ForkId fork, int ownerEpoch, CallException failure, Value content) {
        this.type = type;
        this.rref = rref;
        this.fork = fork;
        this.ownerEpoch = ownerEpoch;
        this.failure = failure;
        this.payload = new ValueEncoder().value(content).toBytes();
    }

    public static ControlMessage userDelete(RRefId rref, ForkId fork) {
        Value content = Value.tuple(
                Value.of(rref.createdOn()),
                Value.of(rref.localId()),
                Value.of(fork.createdOn()),
                Value.of(fork.localId()));
        return new ControlMessage(MessageType.RREF_USER_DELETE, rref, fork, 0, null, content);
    }

    /** Creates the message for the end of a reference whose creation failed: other holders of forks get its error. */
    public static ControlMessage userDelete(RRefId rref, ForkId fork, CallException why) {
        Value content = Value.tuple(
                Value.of(rref.createdOn()),
                Value.of(rref.localId()),
                Value.of(fork.createdOn()),
                Value.of(fork.localId()),
                Value.of(why.kind().code()),
                Value.of(why.code().number()),
                Value.of(String.valueOf(why.getMessage())));
        return new ControlMessage(MessageType.RREF_USER_DELETE, rref, fork, 0, why, content);
    }

    public static ControlMessage forkRequest(RRefId rref, ForkId fork, int ownerEpoch) {
        Value content = Value.tuple(
                Value.of(rref.createdOn()),
                Value.of(rref.localId()),
                Value.of(fork.createdOn()),
                Value.of(fork.localId()),
                Value.of(ownerEpoch));
        return new ControlMessage(MessageType.RREF_FORK_REQUEST, rref, fork, ownerEpoch, null, content);
    }

    public static ControlMessage childAccept(ForkId fork) {
        Value content = Value.tuple(Value.of(fork.createdOn()), Value.of(fork.localId()));
        return new ControlMessage(MessageType.RREF_CHILD_ACCEPT, null, fork, 0, null, content);
    }

    /**
     * Parses a message of another worker.
     *
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} when the payload does not belong to a message
     * of this type
     */
    public static ControlMessage decode(MessageType type, ByteBuffer payload) throws RejectedMessageException {
        ValueDecoder decoder = new ValueDecoder(payload, List.of());
        Value value = decoder.value();
        decoder.end();
        if (!(value instanceof Value.Tuple tuple)) {
            throw malformed(type, "the payload must be a tuple");
        }
        try {
            return decode(type, tuple.values());
        } catch (IllegalArgumentException e) {
            throw malformed(type, e.getMessage());
        }
    }

    private static ControlMessage decode(MessageType type, List<Value> fields) throws RejectedMessageException {
        if (type == MessageType.RREF_CHILD_ACCEPT && fields.size() == ACCEPT_FIELDS) {
            return childAccept(new ForkId(small(type, fields, 0), number(type, fields, 1)));
        }
        if (type == MessageType.RREF_FORK_REQUEST && fields.size() == REQUEST_FIELDS) {
            return forkRequest(rref(type, fields), fork(type, fields), small(type, fields, 4));
        }
        if (type == MessageType.RREF_USER_DELETE && fields.size() == DELETE_FIELDS) {
            return userDelete(rref(type, fields), fork(type, fields));
        }
        if (type == MessageType.RREF_USER_DELETE
                && fields.size() == FAILED_DELETE_FIELDS
                && fields.get(6) instanceof Value.Text text) {
            return userDelete(
                    rref(type, fields),
                    fork(type, fields),
                    new CallException(
                            ErrorKind.of(small(type, fields, 4)),
                            ErrorCode.of(small(type, fields, 5)),
                            MessageId.NONE,
                            text.value()));
        }
        throw malformed(type, "a tuple of " + fields.size());
    }

    private static RRefId rref(MessageType type, List<Value> fields) throws RejectedMessageException {
        return new RRefId(small(type, fields, 0), number(type, fields, 1));
    }

    private static ForkId fork(MessageType type, List<Value> fields) throws RejectedMessageException {
        return new ForkId(small(type, fields, 2), number(type, fields, 3));
    }

    private static int small(MessageType type, List<Value> fields, int index) throws RejectedMessageException {
        long number = number(type, fields, index);
        if (number != (int) number) {
            throw malformed(type, "field " + index + " is out of bounds: " + number);
        }
        return (int) number;
    }

    private static long number(MessageType type, List<Value> fields, int index) throws RejectedMessageException {
        if (fields.get(index) instanceof Value.Int number) {
            return number.value();
        }
        throw malformed(type, "field " + index + " must be an int");
    }

    private static RejectedMessageException malformed(MessageType type, String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "malformed " + type + ": " + what);
    }

    public MessageType type() {
        return type;
    }

    /** Returns the reference; not in {@code RREF_CHILD_ACCEPT}. */
    public RRefId rref() {
        return rref;
    }

    public ForkId fork() {
        return fork;
    }

    public int ownerEpoch() {
        return ownerEpoch;
    }

    public Optional<CallException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Returns the bytes, the same for every attempt; read-only. */
    public ByteBuffer payload() {
        return ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }

    @Override
    public String toString() {
        return type + "(" + (rref == null ? "" : rref + ", ") + fork + ")";
    }
}
