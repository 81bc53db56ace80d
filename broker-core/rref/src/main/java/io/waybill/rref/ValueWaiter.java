package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.RRefId;

/**
 * Callback for a value: exactly one of the first three methods is called, once, without the lock of {@link References}.
 */
public interface ValueWaiter {

    /** Called with the value, which is valid until this returns. */
    void onValue(OwnedValue value);

    /** Called when there is no value and none will come, or when its creation failed. */
    void onFailure(CallException failure);

    /** Called instead of {@link #onFailure} when the deadline passed before there was a value. */
    default void onTooLate(RRefId rref) {
        onFailure(RRefErrors.waitedTooLong(rref));
    }

    /**
     * Returns the time at which the last caller stops waiting, on the clock of {@link References};
     * {@link Long#MAX_VALUE} for never.
     */
    default long deadlineNs() {
        return Long.MAX_VALUE;
    }
}
