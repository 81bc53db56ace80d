package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.RRefId;

/** Is told a value: exactly one of the first three methods, once, without the lock of {@link References}. */
public interface ValueWaiter {

    /** The value; good until this returns. */
    void onValue(OwnedValue value);

    /** There is no value, and none will come; or its creation failed with this. */
    void onFailure(CallException failure);

    /** The deadline passed before there was a value: instead of {@link #onFailure}. */
    default void onTooLate(RRefId rref) {
        onFailure(RRefErrors.waitedTooLong(rref));
    }

    /** When no caller waits any more, on the clock of {@link References}; {@link Long#MAX_VALUE} for never. */
    default long deadlineNs() {
        return Long.MAX_VALUE;
    }
}
