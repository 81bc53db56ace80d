package io.waybill.rref.id;

import io.waybill.rref.Gate;

/**
 * Source of the ids that a worker makes: one counter for references and forks.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
public final class Ids {

    private final int self;
    private long nextLocalId;

    public Ids(int self, long firstLocalId) {
        this.self = self;
        this.nextLocalId = firstLocalId;
    }

    public RRefId nextRRef() {
        return new RRefId(self, nextLocalId++);
    }

    public ForkId nextFork() {
        return new ForkId(self, nextLocalId++);
    }
}
