package io.waybill.crash;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What is done to the workers of a home, drawn from the run's random numbers. One thread. */
final class Strikes {

    private static final long LEAST_PAUSE_MS = 1000;
    private static final long GONE_MS = 20_000;

    private final RunOptions options;
    private final Random random;
    private final Fleet fleet;

    Strikes(RunOptions options, Random random, Fleet fleet) {
        this.options = options;
        this.random = random;
        this.fleet = fleet;
    }

    /** Strikes once, and waits until all are ready again. */
    void strike() throws Exception {
        List<String> victims = victims();
        switch (options.fault()) {
            case KILL -> kill(victims);
            case PAUSE -> pause(victims);
            case FULL -> throw new IllegalArgumentException("a full disk needs a disk of its own");
        }
    }

    private List<String> victims() {
        RunOptions.Who who = options.who();
        if (who == RunOptions.Who.ANY) {
            who = RunOptions.Who.values()[random.nextInt(3)];
        }
        List<String> victims = new ArrayList<>();
        if (who != RunOptions.Who.CALLER) {
            victims.add(Fleet.SERVER);
        }
        if (who != RunOptions.Who.CALLEE) {
            victims.add(fleet.callers().get(random.nextInt(fleet.callers().size())));
        }
        return victims;
    }

    private void kill(List<String> victims) throws Exception {
        for (String victim : victims) {
            fleet.child(victim).kill();
        }
        for (String victim : victims) {
            if (!fleet.child(victim).awaitEnd(GONE_MS)) {
                throw new AssertionError(victim + " was killed and is not gone");
            }
        }
        for (String victim : victims) {
            fleet.start(victim, "");
        }
        for (String victim : victims) {
            fleet.child(victim).awaitReady();
        }
    }

    private void pause(List<String> victims) throws Exception {
        for (String victim : victims) {
            fleet.child(victim).pause();
        }
        CrashRun.pass(LEAST_PAUSE_MS + random.nextLong(Math.max(1, options.mostPauseMs() - LEAST_PAUSE_MS)));
        for (String victim : victims) {
            fleet.child(victim).resume();
        }
    }
}
