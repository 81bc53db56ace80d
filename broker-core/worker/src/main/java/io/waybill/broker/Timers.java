package io.waybill.broker;

import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.agrona.concurrent.Agent;

/**
 * Scheduled tasks of all owners, by the time when they are due. Has a thread from the first task on, which passes each
 * task that is due to the threads of its owner.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class Timers implements Agent, AutoCloseable {

    private static final long MAX_REST_NS = 3_600_000_000_000L;

    private final String workerName;
    private final Clock clock;
    private final Threads threads;
    private final ParkingIdleStrategy idle;
    private final TreeSet<PendingTimer> pending = new TreeSet<>(); // guarded by itself
    private AgentThread thread; // guarded by pending; null before the first task
    private boolean closed; // guarded by pending

    Timers(String workerName, Host host) {
        this.workerName = workerName;
        this.clock = host.clock();
        this.threads = host.threads();
        this.idle = new ParkingIdleStrategy(clock, threads);
    }

    void add(PendingTimer timer) {
        synchronized (pending) {
            if (closed || !timer.isScheduled()) { // cancelled in the meantime
                return;
            }
            pending.add(timer);
            if (thread == null) {
                thread = new AgentThread(workerName + "-timers", this, idle);
                thread.startWhenPossible(threads);
            } else if (pending.first() == timer) {
                idle.wake();
            }
        }
    }

    void remove(PendingTimer timer) {
        synchronized (pending) {
            pending.remove(timer);
        }
    }

    @Override
    public String roleName() {
        return "timers";
    }

    @Override
    public int doWork() {
        List<PendingTimer> due = takeDue();
        due.forEach(PendingTimer::begin);
        synchronized (pending) {
            idle.rest(
                    pending.isEmpty()
                            ? MAX_REST_NS
                            : Math.min(MAX_REST_NS, pending.first().dueNs() - clock.monotonicNs()));
        }
        return due.size();
    }

    private List<PendingTimer> takeDue() {
        List<PendingTimer> due = new ArrayList<>();
        long nowNs = clock.monotonicNs();
        synchronized (pending) {
            while (!pending.isEmpty() && pending.first().dueNs() - nowNs <= 0) {
                due.add(pending.pollFirst());
            }
        }
        return due;
    }

    /** Drops all tasks. */
    @Override
    public void close() {
        AgentThread ending;
        synchronized (pending) {
            closed = true;
            pending.clear();
            ending = thread;
        }
        if (ending != null) {
            ending.close();
        }
    }
}
