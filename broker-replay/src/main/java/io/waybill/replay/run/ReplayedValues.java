package io.waybill.replay.run;

import io.waybill.rref.id.RRefId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The values of remote references that the replayed worker owns. Those that replayed requests made have the ids that are on record; those
 * that a handler made by itself get one of their own, and the one on record once a message shows it. They stay until the end.
 *
 * <p><b>Threads.</b> Any.
 */
final class ReplayedValues implements AutoCloseable {

    /** Ids of its own count down from here, far from those that a worker gives. */
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

    /** Takes over a value; one that was there before goes. */
    synchronized void put(RRefId id, ReplayedValue value) {
        ReplayedValue before = made.put(id, value);
        if (before != null) {
            before.release();
        }
    }

    /** Takes over a value that no request created. */
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
