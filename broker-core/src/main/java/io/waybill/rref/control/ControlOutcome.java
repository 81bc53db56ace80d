package io.waybill.rref.control;

import io.waybill.api.ErrorCode;

/** Hears how one attempt to send a control message ended. Any thread; what comes after the first word is ignored. */
public interface ControlOutcome {

    /** {@code RREF_ACK} came. */
    void acknowledged();

    /** It could not be sent, was refused, or nothing came in time. */
    void failed(ErrorCode code, String text);
}
