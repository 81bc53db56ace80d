package io.waybill.host;

import io.waybill.host.agent.Invoker;
import java.util.Random;

/** The clock of a simulation, and who is next: both depend on its seed alone. <b>Threads.</b> The invoker's. */
public final class SimulatedTime implements Clock, Invoker.Schedule {

    private static final long WALL_AT_START_NS = 1_700_000_000_000_000_000L;
    private static final int MAX_TURN_NS = 4_000;
    private static final int PREEMPTED_ONE_IN = 8;
    private static final int SPIN_NS = 2_000;
    /** A hundred times as many as a history has. */
    private static final long MAX_LOOKS = 2_000_000;

    private final Random random;
    private long nowNs = 1_000_000_000_000L;
    private long turns;
    private long looks;

    public SimulatedTime(Random random) {
        this.random = random;
    }

    /** Returns how many turns there were. */
    public long turns() {
        return turns;
    }

    @Override
    public int next(int due) {
        turns++;
        look();
        nowNs += 1 + random.nextInt(MAX_TURN_NS);
        return random.nextInt(due);
    }

    @Override
    public void rest(long untilNs) {
        look();
        nowNs = Math.max(nowNs + 1, untilNs);
    }

    private void look() {
        if (++looks > MAX_LOOKS) {
            throw new AssertionError("no end after " + turns + " turns, at " + nowNs);
        }
    }

    @Override
    public void spin() {
        look();
        nowNs += SPIN_NS;
    }

    @Override
    public boolean preempts() {
        return random.nextInt(PREEMPTED_ONE_IN) == 0;
    }

    @Override
    public long monotonicNs() {
        return nowNs;
    }

    @Override
    public long bootNs() {
        return nowNs;
    }

    @Override
    public long wallNs() {
        return WALL_AT_START_NS + nowNs;
    }
}
