package io.waybill.rref;

import static io.waybill.rref.SimulatedHome.require;

import io.waybill.rref.status.RRefCounters;

/** What must hold after every event, and in the end. */
final class SimulatedChecks {

    private final SimulatedHome home;

    SimulatedChecks(SimulatedHome home) {
        this.home = home;
    }

    /** Whatever somebody has a handle of is there: its owner knows the fork, and its value is not closed. */
    void check() {
        for (SimulatedWorker worker : home.workers) {
            if (worker.alive) {
                check(worker);
            }
        }
    }

    private void check(SimulatedWorker worker) {
        for (Reference handle : worker.handles) {
            check(worker, handle);
        }
        for (Arrival arrival : worker.reading) {
            for (Reference handle : arrival.references()) {
                check(worker, handle);
            }
        }
        for (SimulatedValue value : worker.holding) {
            for (Reference held : value.held()) {
                check(worker, held);
            }
        }
    }

    private void check(SimulatedWorker worker, Reference handle) {
        if (handle instanceof OwnerReference owner) {
            if (owner.state == OwnerReference.State.COMPLETED && owner.failure == null && !isOpen(owner.value)) {
                throw new AssertionError("the value of " + handle + " is closed");
            }
            return;
        }
        UserReference user = (UserReference) handle;
        SimulatedWorker owner = home.workers[user.owner()];
        boolean sameIncarnation = owner.alive && owner.self.epoch() == user.ownerEpoch;
        if (!sameIncarnation || user.orphan || user.state == UserReference.State.FAILED) {
            return;
        }
        check(worker, user, owner.references.owners().table().find(user.id()));
    }

    private void check(SimulatedWorker worker, UserReference user, OwnerReference entry) {
        if (user.state == UserReference.State.CONFIRMED) {
            if (entry == null || !entry.forks.containsKey(user.fork())) {
                throw new AssertionError("the owner does not know " + user + ", which it confirmed to " + worker);
            }
        } else if (entry == null && isCertain(user)) {
            throw new AssertionError("no ancestor of " + user + " kept it alive for " + worker);
        }
        if (entry != null
                && entry.state == OwnerReference.State.COMPLETED
                && entry.failure == null
                && !isOpen(entry.value)) {
            throw new AssertionError("the value of " + user + " is closed");
        }
    }

    private boolean isCertain(UserReference user) {
        return home.mode == Simulation.Mode.STEADY
                && home.begun.contains(user.id())
                && !home.broken.contains(user.id());
    }

    private static boolean isOpen(OwnedValue value) {
        return value != null && !((SimulatedValue) value).isClosed();
    }

    void requireNothingLeft() {
        for (SimulatedWorker worker : home.workers) {
            requireNothingLeft(worker);
        }
    }

    private static void requireNothingLeft(SimulatedWorker worker) {
        RRefCounters counters = worker.references.counters();
        require(counters.isClean(), worker + " ends with " + counters + leftOf(worker));
        require(worker.references.owners().table().held() == 0, worker + " holds values at the end");
        require(worker.references.owners().reads().waiting() == 0, "somebody waits for a value of " + worker);
        require(worker.calls.isEmpty(), worker + " has calls without an outcome");
        require(worker.holding.isEmpty(), "values of " + worker + " hold references at the end");
        for (SimulatedValue value : worker.values) {
            require(value.isClosed(), "a value of " + worker + " was not closed");
        }
        for (UserReference user : worker.made) {
            require(user.state != UserReference.State.PENDING, user + " of " + worker + " was never settled");
        }
    }

    private static String leftOf(SimulatedWorker worker) {
        StringBuilder left = new StringBuilder();
        worker.references.forEachFork((entry, forks) ->
                left.append(", ").append(entry).append(' ').append(entry.state).append(forks));
        return left.toString();
    }
}
