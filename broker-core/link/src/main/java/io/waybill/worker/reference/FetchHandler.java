package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.exchange.DeferredResponse;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.host.Clock;
import io.waybill.rref.OwnedValue;
import io.waybill.rref.References;
import io.waybill.rref.ValueWaiter;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.RRefId;

/** Handler of {@code SCRIPT_RREF_FETCH_CALL}: responds with the value, once it has been created. Thread-safe. */
final class FetchHandler implements MessageHandler {

    private final References references;
    private final Clock clock;

    FetchHandler(References references, Clock clock) {
        this.references = references;
        this.clock = clock;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        FetchRequest fetch = FetchRequest.decode(message.payload());
        references.fetch(fetch.id(), fetch.epoch(), waiter((InboundMessage) message, outbox));
    }

    private FetchWaiter waiter(InboundMessage message, Outbox outbox) {
        long dueNs = message.deadlineNs();
        long deadlineNs = dueNs == 0 ? Long.MAX_VALUE : clock.monotonicNs() + dueNs - clock.bootNs();
        return new FetchWaiter((DeferredResponse) outbox.later(), deadlineNs, message.sentNs(), dueNs, clock);
    }

    /**
     * Waits for the value, and sends it.
     *
     * @param deadlineNs on CLOCK_MONOTONIC
     * @param dueNs the deadline on CLOCK_BOOTTIME
     */
    private record FetchWaiter(DeferredResponse response, long deadlineNs, long sentNs, long dueNs, Clock clock)
            implements ValueWaiter {

        @Override
        public void onValue(OwnedValue value) {
            try {
                response.send(((StoredValue) value)::putInto);
            } catch (CallException e) { // a reference that the value contains has failed
                onFailure(e);
            }
        }

        @Override
        public void onTooLate(RRefId rref) {
            long timeoutNs = InboundMessage.timeoutNs(sentNs, dueNs, clock);
            onFailure(Failure.timedOut(timeoutNs, "the value of " + rref + " did not come before the deadline")
                    .toException(MessageId.NONE));
        }

        @Override
        public void onFailure(CallException failure) {
            response.fail(failure.code(), failure.getMessage(), failure);
        }
    }
}
