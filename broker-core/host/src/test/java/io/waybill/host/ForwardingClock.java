package io.waybill.host;

/** The host's clock, some of whose methods a test overrides. Thread-safe. */
public class ForwardingClock implements Clock {

    private final Clock real;

    public ForwardingClock(Clock real) {
        this.real = real;
    }

    @Override
    public long monotonicNs() {
        return real.monotonicNs();
    }

    @Override
    public long bootNs() {
        return real.bootNs();
    }

    @Override
    public long wallNs() {
        return real.wallNs();
    }

    @Override
    public long wallNsAt(long bootNs) {
        return real.wallNsAt(bootNs);
    }

    @Override
    public void refresh() {
        real.refresh();
    }
}
