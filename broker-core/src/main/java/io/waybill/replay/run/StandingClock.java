package io.waybill.replay.run;

import io.waybill.host.Clock;

/** A clock that stands where it is put, so that what a replay shows of the time is always the same. One thread. */
final class StandingClock implements Clock {

    private long atNs;

    void standAt(long ns) {
        atNs = ns;
    }

    @Override
    public long monotonicNs() {
        return atNs;
    }

    @Override
    public long bootNs() {
        return atNs;
    }

    @Override
    public long wallNs() {
        return atNs;
    }
}
