package io.waybill.replay.run;

import io.waybill.rref.id.RRefId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The values of remote references that the replayed worker owns. A value that a replayed request created has its
 * recorded id; a value that a handler created by itself gets a new id, and its recorded id after a message contained
 * it. Values stay until the end.
 *
 * <p><b>Threads.</b> Any.
 */
final class ReplayedValues implements AutoCloseable {

    /** First of the new ids, which count down from here, far from a worker's own ids. */
    private static final long LAST_OWN_ID = (1L << 48) - 1;

    private final int worker;
    // These are guarded by this.
    private final Map<RRefId, ReplayedValue> made = new HashMap<>();
    private final Map<RRefId, RRefId> onRecord = new HashMap<>();
    private long nextOwnId = LAST_OWN_ID;

    ReplayedValues(int worker) {
        this.worker = worker;
    }

    synchronized Optional<ReplayedValue> find(RRefId id) {
        return Optional.ofNullable(made.get(onRecord.getOrDefault(id, id)));
    }

    /** Adds a value in place of a previous one, and takes ownership. */
    synchronized void put(RRefId id, ReplayedValue value) {
        ReplayedValue before = made.put(id, value);
        if (before != null) {
            before.release();
        }
    }

    /** Adds a value that no request created, and takes ownership. */
    synchronized RRefId add(ReplayedValue value) {
        RRefId id = new RRefId(worker, nextOwnId--);
        made.put(id, value);
        return id;
    }

    /** Binds the recorded id of a value to its id here. */
    synchronized void bind(RRefId recorded, RRefId id) {
        if (!recorded.equals(id)) {
            onRecord.put(recorded, id);
        }
    }

    @Override
    public synchronized void close() {
        made.values().forEach(ReplayedValue::release);
        made.clear();
    }
}
