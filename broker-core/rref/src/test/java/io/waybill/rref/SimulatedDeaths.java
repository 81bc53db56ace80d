package io.waybill.rref;

import static io.waybill.rref.SimulatedHome.MS;
import static io.waybill.rref.SimulatedHome.WORKERS;

import io.waybill.api.ErrorCode;
import io.waybill.rref.status.Holder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Kills workers, tells the others in their own time, and starts them again, with or without the values that they had. */
final class SimulatedDeaths {

    private final SimulatedHome home;
    private final Set<Integer> dead = new HashSet<>();
    private final Map<Integer, Long> lostUntil = new HashMap<>();
    private long killed;

    SimulatedDeaths(SimulatedHome home) {
        this.home = home;
    }

    void kill() {
        SimulatedWorker victim = home.workers[home.any(WORKERS)];
        if (!victim.alive || dead.size() >= 2) {
            return;
        }
        killed++;
        victim.alive = false;
        dead.add(victim.id());
        for (SimulatedWorker other : home.workers) {
            if (other.alive) {
                long delayNs = home.delay();
                lostUntil.merge(other.id() * WORKERS + victim.id(), home.time.monotonicNs() + delayNs, Math::max);
                home.time.in(delayNs, () -> reportLost(other, victim.self));
            }
        }
        home.time.in(100 * MS + home.any(12_000) * MS, () -> restart(victim));
    }

    private static void reportLost(SimulatedWorker notified, Holder gone) {
        if (!notified.alive) {
            return;
        }
        notified.known.remove(gone.worker());
        notified.references.lost(gone);
        for (SimulatedCall call : new ArrayList<>(notified.calls)) {
            if (call.target.equals(gone)) {
                call.fail(ErrorCode.WORKER_LOST, "its process is gone");
            }
        }
    }

    private void restart(SimulatedWorker before) {
        Holder incarnation = new Holder(before.id(), before.self.epoch() + 1);
        SimulatedWorker after = home.begin(incarnation, incarnation.epoch() * 100_000_000L);
        home.workers[before.id()] = after;
        dead.remove(before.id());
        after.known.put(incarnation.worker(), incarnation);
        for (SimulatedWorker other : home.workers) {
            if (other != after && other.alive) {
                after.known.put(other.id(), other.self);
                long reportedNs = lostUntil.getOrDefault(other.id() * WORKERS + before.id(), 0L);
                long sinceNs = Math.max(0, reportedNs - home.time.monotonicNs());
                home.time.in(sinceNs + home.delay(), () -> reportReturned(other, incarnation));
                home.time.in(home.delay(), () -> reportReturned(after, other.self));
            } else if (other != after) {
                after.references.lost(other.self);
            }
        }
        if (home.chance(50)) {
            keepValues(before, after);
        }
    }

    private void reportReturned(SimulatedWorker notified, Holder incarnation) {
        if (notified.alive && home.live(incarnation) != null) {
            notified.known.put(incarnation.worker(), incarnation);
            notified.references.returned(incarnation);
        }
    }

    /** All but those that hold references, which can't be kept. */
    private static void keepValues(SimulatedWorker before, SimulatedWorker after) {
        for (OwnerReference entry : before.references.owners().table().all()) {
            if (entry.value instanceof SimulatedValue value && value.held().isEmpty()) {
                after.references.creations().restore(entry.id(), after.value(entry.id(), value.held()), entry.type());
            }
        }
    }

    long killed() {
        return killed;
    }
}
