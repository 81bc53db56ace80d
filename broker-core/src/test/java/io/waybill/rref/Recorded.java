package io.waybill.rref;

import io.waybill.api.CallException;

/** A waiter that keeps what it was told. */
final class Recorded implements ValueWaiter {
    OwnedValue value;
    CallException failure;
    private final long deadlineNs;

    Recorded() {
        this(Long.MAX_VALUE);
    }

    Recorded(long deadlineNs) {
        this.deadlineNs = deadlineNs;
    }

    @Override
    public void onValue(OwnedValue told) {
        value = told;
    }

    @Override
    public void onFailure(CallException told) {
        failure = told;
    }

    @Override
    public long deadlineNs() {
        return deadlineNs;
    }
}
