package io.waybill.rref.control;

import io.waybill.api.ErrorCode;

/** Callback for the outcome of one attempt to send a control message. Any thread; only the first call counts. */
public interface ControlOutcome {

    /** Called when {@code RREF_ACK} arrived. */
    void acknowledged();

    /** Called when the message could not be sent, was rejected, or timed out. */
    void failed(ErrorCode code, String text);
}
