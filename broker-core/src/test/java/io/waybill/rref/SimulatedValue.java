package io.waybill.rref;

/** A value that knows whether it was closed, and complains when it is closed twice or read afterwards. */
final class SimulatedValue implements OwnedValue {
    private final RRefId id;
    private boolean closed;

    SimulatedValue(RRefId id) {
        this.id = id;
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

    @Override
    public void close() {
        if (closed) {
            throw new AssertionError("the value of " + id + " was closed twice");
        }
        closed = true;
    }
}
