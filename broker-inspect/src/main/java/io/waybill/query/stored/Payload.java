package io.waybill.query.stored;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.context.CallContext;
import io.waybill.api.journal.MessageContent;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.tensor.DescribedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.Observations;
import io.waybill.wire.OptionalFields;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Decoded payload of a record, as far as its type defines it. Tensors are described, without their elements. Immutable,
 * except for the arrays in it.
 *
 * @param call of a call by name
 * @param result of a response to one
 * @param text of an exception
 * @param start the first bytes, whatever they are
 * @param bytes how many there are, without the context, the observations, the optional fields and the references at their end
 * @param observations of a response: what its handler observed
 * @param context of a request
 * @param optionalFields of a request or a response
 * @param callerSpan id of the span that a traced request was sent from; 0 without a trace
 * @param problem why it can't be decoded as its type requires; empty if it can, or the type is unknown
 */
public record Payload(
        Optional<Invocation> call,
        Optional<Value> result,
        Optional<String> text,
        List<Tensor> tensors,
        byte[] start,
        int bytes,
        Observations observations,
        CallContext context,
        OptionalFields optionalFields,
        long callerSpan,
        String problem)
        implements MessageContent {

    private static final int CONTROL_RET = MessageType.CONTROL_RET.code();
    private static final int MAX_START_BYTES = 64;
    private static final int MAX_TEXT_BYTES = 64 << 10;

    /** Decodes the payload of a record by its type. */
    public static Payload of(RecordView record) {
        byte[] bytes = record.copyPayload();
        byte[] start = Arrays.copyOf(bytes, Math.min(bytes.length, MAX_START_BYTES));
        List<Tensor> tensors = List.of();
        Optional<Invocation> call = Optional.empty();
        Optional<Value> result = Optional.empty();
        Optional<String> text = Optional.empty();
        Observations observations = Observations.NONE;
        String problem = "";
        try {
            tensors = List.copyOf(DescribedTensors.of(record));
            if (isCallByName(record.type())) {
                call = Optional.of(Invocation.decode(ByteBuffer.wrap(bytes), tensors, DescribedReference.of(record)));
            } else if (isValue(record.type())) {
                ValueDecoder decoder = new ValueDecoder(ByteBuffer.wrap(bytes), tensors);
                result = Optional.of(decoder.value());
                decoder.end();
            } else if (record.type() == MessageType.EXCEPTION) {
                text = Optional.of(
                        new String(bytes, 0, Math.min(bytes.length, MAX_TEXT_BYTES), StandardCharsets.UTF_8));
            }
            observations = record.observations();
        } catch (MalformedRecordException | RejectedMessageException e) {
            problem = String.valueOf(e.getMessage());
        }
        return new Payload(
                call,
                result,
                text,
                tensors,
                start,
                bytes.length,
                observations,
                record.context(),
                record.optionalFields(),
                record.callerSpan(),
                problem);
    }

    /** Creates the placeholder of an omitted payload. */
    public static Payload leftOut(String why) {
        return new Payload(
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                new byte[0],
                0,
                Observations.NONE,
                CallContext.EMPTY,
                OptionalFields.NONE,
                0,
                why);
    }

    private static boolean isValue(MessageType type) {
        return type == MessageType.NAMED_RET
                || type == MessageType.SCRIPT_RET
                || type == MessageType.SCRIPT_RREF_FETCH_RET
                || type == MessageType.PYTHON_RET
                || type == MessageType.REMOTE_RET
                || type.code() == CONTROL_RET;
    }

    static boolean isCallByName(MessageType type) {
        return type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_CALL
                || type == MessageType.SCRIPT_REMOTE_CALL
                || type == MessageType.PYTHON_CALL
                || type == MessageType.PYTHON_REMOTE_CALL
                || isControl(type);
    }

    private static boolean isControl(MessageType type) {
        return type == MessageType.CONTROL_CALL;
    }

    /**
     * Returns the operation of a call by name, without decoding its arguments; with the prefix
     * {@value HandlerKey#CONTROL_PREFIX} if it is the broker's own. Empty if there is none.
     */
    public static Optional<String> operationOf(RecordView record) {
        return operationOf(record.type(), record.payload());
    }

    /** Returns the operation of a request outside of a record. */
    public static Optional<String> operationOf(MessageType type, ByteBuffer payload) {
        int length = nameLength(type, payload);
        if (length == 0) {
            return Optional.empty();
        }
        byte[] utf8 = new byte[length];
        payload.get(payload.position() + 2, utf8);
        String name = new String(utf8, StandardCharsets.UTF_8);
        return Optional.of(isControl(type) ? HandlerKey.CONTROL_PREFIX + name : name);
    }

    /** Returns the number of a payload's first bytes up to the end of the operation's name; 0 if there is none. */
    public static int operationBytes(RecordView record) {
        int length = nameLength(record.type(), record.payload());
        return length == 0 ? 0 : length + 2;
    }

    private static int nameLength(MessageType type, ByteBuffer payload) {
        if (!isCallByName(type) || payload.remaining() < 2) {
            return 0;
        }
        int at = payload.position();
        int length = Invocation.nameLength(
                Byte.toUnsignedInt(payload.get(at)) | Byte.toUnsignedInt(payload.get(at + 1)) << 8);
        return length > Invocation.MAX_NAME_BYTES || length > payload.remaining() - 2 ? 0 : length;
    }
}
