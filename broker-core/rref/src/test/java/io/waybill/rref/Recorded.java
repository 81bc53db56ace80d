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
    public void onValue(OwnedValue notified) {
        value = notified;
    }

    @Override
    public void onFailure(CallException notified) {
        failure = notified;
    }

    @Override
    public long deadlineNs() {
        return deadlineNs;
    }
}
