package io.waybill.rref;

import io.waybill.rref.status.Holder;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Which lives of which workers are over. Guarded by the {@link Gate}. */
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
     * A life was seen.
     *
     * @return whether its worker was down before, and is there again
     */
    boolean meet(Holder incarnation) {
        current.merge(incarnation.worker(), incarnation.epoch(), Math::max);
        return !isOver(incarnation) && down.remove(incarnation.worker());
    }

    /** Whether its process is known to be gone, and no other has come. */
    boolean isDown(int worker) {
        return down.contains(worker);
    }

    boolean isOver(int worker, int epoch) {
        return epoch <= overThrough.getOrDefault(worker, 0);
    }

    boolean isOver(Holder incarnation) {
        return isOver(incarnation.worker(), incarnation.epoch());
    }

    /** Whether this incarnation says that the one before it is over, which no worker has said yet. */
    boolean endsAnother(Holder incarnation) {
        return incarnation.epoch() > 1 && !isOver(incarnation.worker(), incarnation.epoch() - 1);
    }

    /** The life that is known to run now, at least this one. */
    int current(int worker, int atLeast) {
        return Math.max(atLeast, current.getOrDefault(worker, 0));
    }
}
