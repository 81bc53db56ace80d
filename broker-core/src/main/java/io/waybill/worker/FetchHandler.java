package io.waybill.worker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageHandler;
import io.waybill.api.Outbox;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.host.Clock;
import io.waybill.rref.OwnedValue;
import io.waybill.rref.RRefId;
import io.waybill.rref.References;
import io.waybill.rref.ValueWaiter;
import java.util.List;

/** Answers {@code SCRIPT_RREF_FETCH_CALL}: with the value when it is there, else once it is. Thread-safe. */
final class FetchHandler implements MessageHandler {

    private static final int FIELDS = 4;

    private final References references;
    private final Clock clock;

    FetchHandler(References references, Clock clock) {
        this.references = references;
        this.clock = clock;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        ValueDecoder decoder = new ValueDecoder(message.payload(), List.of());
        Value content = decoder.value();
        decoder.end();
        if (!(content instanceof Value.Tuple tuple)
                || tuple.values().size() != FIELDS
                || !tuple.values().stream().allMatch(Value.Int.class::isInstance)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a " + message.type() + " is a tuple of " + FIELDS + " ints");
        }
        RRefId id = id(tuple);
        int generation = (int) Math.min(Integer.MAX_VALUE, number(tuple, 3));
        references.fetch(id, generation, new Waiting((ValueReply) outbox.later(), deadlineNs(message)));
    }

    private static RRefId id(Value.Tuple tuple) throws RejectedMessageException {
        try {
            return new RRefId(Math.toIntExact(number(tuple, 0)), number(tuple, 1));
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "no reference: " + e.getMessage(), e);
        }
    }

    private static long number(Value.Tuple tuple, int index) {
        return ((Value.Int) tuple.values().get(index)).value();
    }

    private long deadlineNs(Message message) {
        long leftNs = message.remainingNs();
        return leftNs == Long.MAX_VALUE ? Long.MAX_VALUE : clock.monotonicNs() + leftNs;
    }

    /** Sends the value once it is there. */
    private record Waiting(ValueReply reply, long deadlineNs) implements ValueWaiter {

        @Override
        public void onValue(OwnedValue value) {
            try {
                reply.send((StoredValue) value);
            } catch (CallException e) { // a reference that it holds has failed
                onFailure(e);
            }
        }

        @Override
        public void onFailure(CallException failure) {
            reply.fail(failure.code(), failure.getMessage());
        }
    }
}
