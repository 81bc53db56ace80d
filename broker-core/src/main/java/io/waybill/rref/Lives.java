package io.waybill.rref;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Which lives of which workers are over. Guarded by the {@link Gate}. */
final class Lives {
    private final Map<Integer, Integer> overThrough = new HashMap<>();
    private final Map<Integer, Integer> current = new HashMap<>();
    private final Set<Integer> down = new HashSet<>();

    void lost(Holder dead) {
        overThrough.merge(dead.worker(), dead.generation(), Math::max);
        if (current.getOrDefault(dead.worker(), 0) <= dead.generation()) {
            down.add(dead.worker());
        }
    }

    /**
     * A life was seen.
     *
     * @return whether its worker was down before, and is there again
     */
    boolean meet(Holder life) {
        current.merge(life.worker(), life.generation(), Math::max);
        return !isOver(life) && down.remove(life.worker());
    }

    /** Whether its process is known to be gone, and no other has come. */
    boolean isDown(int worker) {
        return down.contains(worker);
    }

    boolean isOver(int worker, int generation) {
        return generation <= overThrough.getOrDefault(worker, 0);
    }

    boolean isOver(Holder life) {
        return isOver(life.worker(), life.generation());
    }

    /** Whether this life says that the one before it is over, which nobody has told. */
    boolean endsAnother(Holder life) {
        return life.generation() > 1 && !isOver(life.worker(), life.generation() - 1);
    }

    /** The life that is known to run now, at least this one. */
    int current(int worker, int atLeast) {
        return Math.max(atLeast, current.getOrDefault(worker, 0));
    }
}
