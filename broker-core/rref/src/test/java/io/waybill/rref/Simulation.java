package io.waybill.rref;

import static io.waybill.rref.SimulatedHome.MS;

/**
 * Four workers whose programs create, share, respond with, read and give back references at random, in one thread, over a network that
 * delays, repeats, reorders and loses. Values hold references, too. After every event it is checked that nothing is used after its release.
 * All follows from a seed.
 */
final class Simulation {

    /** What happens to workers. */
    enum Mode {
        STEADY,
        KILLS
    }

    private final SimulatedHome home;
    private final SimulatedTime time;
    private final SimulatedPrograms programs;
    private final SimulatedDeaths deaths;
    private final SimulatedChecks checks;
    private long events;

    Simulation(long seed, Mode mode) {
        home = new SimulatedHome(seed, mode);
        time = home.time;
        programs = new SimulatedPrograms(home);
        deaths = new SimulatedDeaths(home);
        checks = new SimulatedChecks(home);
    }

    /** Runs this many operations, then lets everything come to rest. */
    void run(int operations) {
        for (int done = 0; done < operations; done++) {
            runUntil(time.monotonicNs() + home.any((int) (4 * MS)));
            programs.operate();
            checks.check();
            if (home.mode == Mode.KILLS && home.any(2000) == 0) {
                deaths.kill();
            }
        }
        finish();
    }

    private void runUntil(long untilNs) {
        while (step(untilNs)) {
            checks.check();
        }
        time.advanceTo(untilNs);
    }

    /** The next thing that happens at all, up to a time. */
    private boolean step(long untilNs) {
        SimulatedWorker next = null;
        long dueNs = time.nextNs();
        for (SimulatedWorker worker : home.workers) {
            if (worker.alive && worker.references.nextDueNs() < dueNs) {
                next = worker;
                dueNs = worker.references.nextDueNs();
            }
        }
        if (dueNs > untilNs) {
            return false;
        }
        events++;
        if (next == null) {
            time.runNext();
        } else {
            time.advanceTo(dueNs);
            next.references.tick();
        }
        return true;
    }

    /** All programs close their handles, and whoever died is back; then nothing may be left. */
    private void finish() {
        home.programsRun = false;
        runUntil(time.monotonicNs() + 30_000 * MS);
        for (SimulatedWorker worker : home.workers) {
            while (!worker.handles.isEmpty()) {
                programs.giveBack(worker);
            }
        }
        long quietNs = time.monotonicNs() + 3_600_000 * MS;
        while (step(quietNs)) {
            checks.check();
        }
        checks.requireNothingLeft();
    }

    /** What happened, to see that something did. */
    String summary() {
        return events + " events, " + home.reads + " values read, " + home.responded + " responses with references and "
                + home.late + " too late, " + home.holding + " values that hold references, " + home.broken.size()
                + " creations failed, " + deaths.killed() + " workers killed, " + home.givenUp
                + " uses of failed references";
    }

    long reads() {
        return home.reads;
    }

    long responded() {
        return home.responded;
    }

    long late() {
        return home.late;
    }

    long holding() {
        return home.holding;
    }

    long killed() {
        return deaths.killed();
    }

    int brokenCreations() {
        return home.broken.size();
    }
}
