package io.waybill.host.agent;

import io.waybill.host.Clock;
import io.waybill.host.Threads;

/**
 * Parks the thread of one agent until its next duty cycle is due. An interrupt neither ends the wait nor stays pending.
 *
 * <p><b>Threads.</b> {@link #wake} by any; the rest by the agent's thread.
 */
public final class ParkingIdleStrategy implements WakeableIdleStrategy {

    private final Clock clock;
    private final Threads threads;
    private long dueNs; // monotonic clock
    private volatile boolean woken; // set by any thread, cleared by the agent's
    private volatile Thread parked; // the agent's thread while it waits

    public ParkingIdleStrategy(Clock clock, Threads threads) {
        this.clock = clock;
        this.threads = threads;
        this.dueNs = clock.monotonicNs();
    }

    @Override
    public void rest(long maxNs) {
        dueNs = clock.monotonicNs() + maxNs;
    }

    @Override
    public void idle() {
        parked = threads.current(); // before the mark is read: a thread that sets it later unparks
        long leftNs = dueNs - clock.monotonicNs();
        while (leftNs > 0 && !woken) {
            threads.pause(leftNs);
            Thread.interrupted(); // a thread with a pending interrupt does not park
            leftNs = dueNs - clock.monotonicNs();
        }
        parked = null;
        woken = false;
    }

    @Override
    public void reset() {
        dueNs = clock.monotonicNs();
    }

    @Override
    public String alias() {
        return "parking";
    }

    @Override
    public void wake() {
        if (woken) {
            return;
        }
        woken = true;
        Thread waiting = parked;
        if (waiting != null) {
            threads.unpark(waiting);
        }
    }
}
