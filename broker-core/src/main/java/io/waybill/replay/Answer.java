package io.waybill.replay;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.Tensor;
import java.util.List;

/**
 * An answer, on record or of a replay. Immutable, but for the array and the elements.
 *
 * @param payload the values alone, or the text of an exception in UTF-8
 * @param tensors with their elements
 * @param errorKind of an exception; {@link ErrorKind#UNKNOWN_ERROR} otherwise
 * @param errorCode of an exception; {@link ErrorCode#UNKNOWN} otherwise
 */
public record Answer(MessageType type, byte[] payload, List<Tensor> tensors, ErrorKind errorKind, ErrorCode errorCode) {

    public boolean isError() {
        return type == MessageType.EXCEPTION;
    }
}
