package io.waybill.crash;

import io.waybill.crash.agent.Point;
import io.waybill.system.SmallDisk;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** What is done to the workers of a home, drawn from the run's random numbers. One thread. */
final class Strikes {

    private static final long LEAST_PAUSE_MS = 1000;
    private static final long GONE_MS = 20_000;
    private static final int KILLED = 128 + 9;
    private static final long LEAST_FULL_MS = 500;
    private static final long MOST_FULL_MS = 3000;
    private static final long RESUMED_MS = 60_000;
    private static final long SOME_CALLS = 500;

    private final RunOptions options;
    private final Random random;
    private final Fleet fleet;
    private final SmallDisk disk; // null when nothing fills it
    private final Map<Point, Integer> reached;
    private int points;

    Strikes(RunOptions options, Random random, Fleet fleet, SmallDisk disk, Map<Point, Integer> reached) {
        this.options = options;
        this.random = random;
        this.fleet = fleet;
        this.disk = disk;
        this.reached = reached;
        this.points = reached.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Strikes once, and waits until all are ready again. */
    void strike() throws Exception {
        List<String> victims = victims();
        switch (options.fault()) {
            case KILL -> {
                if (options.point().isEmpty()) {
                    kill(victims);
                } else {
                    killAt(nextPoint(), victims);
                }
            }
            case PAUSE -> pause(victims);
            case FULL -> fill();
        }
    }

    private List<String> victims() {
        RunOptions.Who who = options.who();
        if (who == RunOptions.Who.ANY) {
            who = RunOptions.Who.values()[random.nextInt(3)];
        }
        List<String> victims = new ArrayList<>();
        if (options.pattern() == RunOptions.Pattern.ALL) {
            List<String> drawn = new ArrayList<>(fleet.callers());
            Collections.shuffle(drawn, random);
            return drawn.subList(0, Math.min(drawn.size(), who == RunOptions.Who.BOTH ? 2 : 1));
        }
        if (who != RunOptions.Who.CALLER) {
            victims.add(Fleet.SERVER);
        }
        if (who != RunOptions.Who.CALLEE) {
            victims.add(fleet.callers().get(random.nextInt(fleet.callers().size())));
        }
        return victims;
    }

    private Point nextPoint() {
        if (!options.point().equals(RunOptions.ALL)) {
            return Point.valueOf(options.point());
        }
        Point[] all = Point.values();
        Point next = all[points++ % all.length];
        return next.role() != Point.Role.NODE || options.bundled() ? next : nextPoint();
    }

    /** Kills a worker, lets its next incarnation kill itself where it is meant to, and starts it again. */
    private void killAt(Point point, List<String> victims) throws Exception {
        Point.Role role = options.pattern() == RunOptions.Pattern.ALL ? Point.Role.ANY : point.role();
        String victim = switch (role) {
            case SERVER, NODE -> Fleet.SERVER;
            case CALLER -> fleet.callers().get(0);
            case ANY -> victims.get(victims.size() - 1);
        };
        end(victim);
        Child killed = fleet.startKilledAt(victim, point, 1 + random.nextInt(point.maxPassings()));
        if (killed.awaitEnd(GONE_MS)) {
            if (killed.exitCode() != KILLED) {
                throw new AssertionError(victim + " ended by itself, with " + killed.exitCode() + ": " + killed.log());
            }
            reached.merge(point, 1, Integer::sum);
        } else {
            end(victim);
        }
        fleet.start(victim).awaitReady();
    }

    private void end(String victim) throws InterruptedException {
        fleet.child(victim).kill();
        if (!fleet.child(victim).awaitEnd(GONE_MS)) {
            throw new AssertionError(victim + " was killed and is not gone");
        }
    }

    private void kill(List<String> victims) throws Exception {
        for (String victim : victims) {
            fleet.child(victim).kill();
        }
        for (String victim : victims) {
            end(victim);
        }
        for (String victim : victims) {
            fleet.start(victim);
        }
        for (String victim : victims) {
            fleet.child(victim).awaitReady();
        }
    }

    private void pause(List<String> victims) throws Exception {
        for (String victim : victims) {
            fleet.child(victim).pause();
        }
        CrashRun.pass(LEAST_PAUSE_MS + random.nextLong(Math.max(1, options.maxPauseMs() - LEAST_PAUSE_MS)));
        for (String victim : victims) {
            fleet.child(victim).resume();
        }
    }

    /** Takes all that is left of the disk for a while; service resumes by itself when it is there again. */
    private void fill() throws Exception {
        disk.fill();
        CrashRun.pass(LEAST_FULL_MS + random.nextLong(MOST_FULL_MS - LEAST_FULL_MS));
        disk.free();
        long enough = fleet.responded() + SOME_CALLS;
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RESUMED_MS);
        while (fleet.responded() < enough) {
            if (System.nanoTime() > untilNs) {
                throw new AssertionError("the disk has room again, and calls are not responded to");
            }
            CrashRun.pass(10);
        }
    }
}
