package io.waybill.rref.id;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Payload of a {@code SCRIPT_RREF_FETCH_CALL}: a tuple of four ints.
 *
 * @param owner id of the worker that has the value
 * @param epoch the owner's epoch when the value was created, as far as the sender knows
 */
public record FetchRequest(RRefId id, int owner, int epoch) {

    private static final int FIELDS = 4;

    /** Returns the request to the owner. */
    public Request toRequest() {
        Value content = Value.tuple(Value.of(id.createdOn()), Value.of(id.localId()), Value.of(owner), Value.of(epoch));
        ByteBuffer payload = ByteBuffer.wrap(new ValueEncoder().value(content).toBytes());
        return Request.raw(WorkerInfo.address(owner), MessageType.SCRIPT_RREF_FETCH_CALL, payload, List.of());
    }

    /**
     * Parses a payload.
     *
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} when the payload is malformed
     */
    public static FetchRequest decode(ByteBuffer payload) throws RejectedMessageException {
        ValueDecoder decoder = new ValueDecoder(payload, List.of());
        Value content = decoder.value();
        decoder.end();
        if (!(content instanceof Value.Tuple tuple)
                || tuple.values().size() != FIELDS
                || !tuple.values().stream().allMatch(Value.Int.class::isInstance)) {
            throw malformed("a " + MessageType.SCRIPT_RREF_FETCH_CALL + " is a tuple of " + FIELDS + " ints");
        }
        try {
            RRefId id = new RRefId(Math.toIntExact(number(tuple, 0)), number(tuple, 1));
            int epoch = (int) Math.min(Integer.MAX_VALUE, number(tuple, 3));
            return new FetchRequest(id, Math.toIntExact(number(tuple, 2)), epoch);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "no reference: " + e.getMessage(), e);
        }
    }

    private static long number(Value.Tuple tuple, int index) {
        return ((Value.Int) tuple.values().get(index)).value();
    }

    private static RejectedMessageException malformed(String text) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, text);
    }
}
