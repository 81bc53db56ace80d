package io.waybill.rref;

/**
 * Names what a worker makes: one counter for references and forks.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class Ids {

    private final int self;
    private long nextLocalId;

    Ids(int self, long firstLocalId) {
        this.self = self;
        this.nextLocalId = firstLocalId;
    }

    RRefId nextRRef() {
        return new RRefId(self, nextLocalId++);
    }

    ForkId nextFork() {
        return new ForkId(self, nextLocalId++);
    }
}
