package io.waybill.rref;

import java.util.HashSet;
import java.util.Set;

/**
 * Set of ended ids, remembered for at least one period and at most two. Guarded by the {@link Gate}.
 *
 * @param <T> kind of id
 */
final class RecentIds<T> {
    private final Alarms alarms;
    private final long periodNs;
    private Set<T> current = new HashSet<>();
    private Set<T> before = new HashSet<>();
    private long turnedNs;

    RecentIds(Alarms alarms, long periodNs) {
        this.alarms = alarms;
        this.periodNs = periodNs;
        this.turnedNs = alarms.nowNs();
    }

    void add(T id) {
        turn();
        current.add(id);
    }

    boolean contains(T id) {
        turn();
        return current.contains(id) || before.contains(id);
    }

    /** Removes an id that is in use again. */
    void remove(T id) {
        current.remove(id);
        before.remove(id);
    }

    private void turn() {
        long sinceNs = alarms.nowNs() - turnedNs;
        if (sinceNs < periodNs) {
            return;
        }
        before = sinceNs < 2 * periodNs ? current : new HashSet<>();
        current = new HashSet<>();
        turnedNs += sinceNs;
    }
}
