package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.worker.peer.PeerLink;

/** Injected failure of a request: undoes the steps of sending it, and fails its call. */
final class InjectedFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final CallException outcome;

    InjectedFailure(MessageType type, long id, PeerLink link) {
        super(null, null, false, false);
        String text = "Send attempt failed intentionally for " + type + " to worker " + link;
        outcome = new CallException(
                ErrorKind.INTENTIONAL_FAILURE,
                ErrorCode.INTENTIONAL_FAILURE,
                id,
                ErrorKind.INTENTIONAL_FAILURE.encode(text));
    }

    /** Returns the outcome for the listener. */
    CallException outcome() {
        return outcome;
    }
}
