package io.waybill.rref;

import io.waybill.rref.status.Holder;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Record of the incarnations of workers that have ended. Guarded by the {@link Gate}. */
final class Incarnations {
    private final Map<Integer, Integer> overThrough = new HashMap<>();
    private final Map<Integer, Integer> current = new HashMap<>();
    private final Set<Integer> down = new HashSet<>();

    void lost(Holder dead) {
        overThrough.merge(dead.worker(), dead.epoch(), Math::max);
        if (current.getOrDefault(dead.worker(), 0) <= dead.epoch()) {
            down.add(dead.worker());
        }
    }

    /**
     * Notes that an incarnation was seen.
     *
     * @return whether its worker was down before, and has returned
     */
    boolean meet(Holder incarnation) {
        current.merge(incarnation.worker(), incarnation.epoch(), Math::max);
        return !isOver(incarnation) && down.remove(incarnation.worker());
    }

    /** Returns whether its process is known to have ended, without a successor. */
    boolean isDown(int worker) {
        return down.contains(worker);
    }

    boolean isOver(int worker, int epoch) {
        return epoch <= overThrough.getOrDefault(worker, 0);
    }

    boolean isOver(Holder incarnation) {
        return isOver(incarnation.worker(), incarnation.epoch());
    }

    /** Returns whether this incarnation implies the end of the previous one, which was not reported yet. */
    boolean endsAnother(Holder incarnation) {
        return incarnation.epoch() > 1 && !isOver(incarnation.worker(), incarnation.epoch() - 1);
    }

    /** Returns the epoch that is known to run now; at least the given one. */
    int current(int worker, int atLeast) {
        return Math.max(atLeast, current.getOrDefault(worker, 0));
    }
}
