package io.waybill.rref;

/** A value that knows whether it was closed, and complains when it is closed twice or read afterwards. */
final class SimulatedValue implements OwnedValue {
    private final RRefId id;
    private final boolean kept;
    private boolean closed;
    private boolean forgotten;

    SimulatedValue(RRefId id) {
        this(id, false);
    }

    private SimulatedValue(RRefId id, boolean kept) {
        this.id = id;
        this.kept = kept;
    }

    /** One that is on the disk too. */
    static SimulatedValue kept() {
        return new SimulatedValue(null, true);
    }

    void read(RRefId wanted) {
        if (closed) {
            throw new AssertionError("the value of " + id + " was read after it was closed");
        }
        if (wanted != null && id != null && !id.equals(wanted)) {
            throw new AssertionError("the value of " + id + " was given for " + wanted);
        }
    }

    boolean isClosed() {
        return closed;
    }

    boolean isForgotten() {
        return forgotten;
    }

    @Override
    public boolean isKept() {
        return kept;
    }

    @Override
    public void close() {
        closeForNow();
        forgotten = true;
    }

    @Override
    public void closeForNow() {
        if (closed) {
            throw new AssertionError("the value of " + id + " was closed twice");
        }
        closed = true;
    }
}
