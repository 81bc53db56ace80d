package io.waybill.replay.compare;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.tensor.Tensor;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * Response from a record or from a replay. Immutable, except for the array and the elements.
 *
 * @param payload only the values, or the text of an exception in UTF-8
 * @param tensors with their elements
 * @param errorKind kind of an exception; {@link ErrorKind#UNKNOWN_ERROR} otherwise
 * @param errorCode code of an exception; {@link ErrorCode#UNKNOWN} otherwise
 */
public record ComparedResponse(
        MessageType type, byte[] payload, List<Tensor> tensors, ErrorKind errorKind, ErrorCode errorCode) {

    /** Creates a response from its record. */
    public static ComparedResponse of(RecordView record, List<Tensor> tensors) {
        return new ComparedResponse(
                record.type(), record.copyPayload(), tensors, record.errorKind(), record.errorCode());
    }

    /** Returns the same response with its tensors at another location. */
    public ComparedResponse with(List<Tensor> moved) {
        return new ComparedResponse(type, payload, moved, errorKind, errorCode);
    }

    /** Returns whether the response is an exception. */
    public boolean isError() {
        return type == MessageType.EXCEPTION;
    }

    /** Returns the text of an exception. */
    public String errorText() {
        return new String(payload, StandardCharsets.UTF_8);
    }

    /** Returns the payload as one value; empty if it can't be decoded as one. */
    public Optional<Value> value() {
        try {
            ValueDecoder decoder = new ValueDecoder(ByteBuffer.wrap(payload), tensors);
            Value value = decoder.value();
            decoder.end();
            return Optional.of(value);
        } catch (RejectedMessageException e) {
            return Optional.empty();
        }
    }

    /** Releases one count of each tensor's storage. */
    public void release() {
        tensors.forEach(tensor -> tensor.storage().release());
    }
}
