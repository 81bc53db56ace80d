package io.waybill.worker.poll;

import io.waybill.home.Doorbell;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;

/**
 * Context of the threads that poll for one worker: the parts that its poller, leaders and waiting callers share. Each
 * receives the context in place of its parts.
 *
 * <p><b>Threads.</b> Any; the javadoc of each part names the threads that may use it.
 */
public final class PollContext {

    final String workerName;
    final PollTimes times;
    final Clock clock;
    final Threads threads;
    final Cursors cursors;
    final Doorbell doorbell;
    final PollTurns turns;
    final HandlerSlots invocations;
    private final FaultAlarm faults;
    private final Deadlines deadlines = new Deadlines();

    /**
     * @param cursors of the worker, as is {@code doorbell}; the owner of both closes them after the last poll
     */
    public PollContext(String workerName, PollTimes times, Host host, Cursors cursors, Doorbell doorbell) {
        this.workerName = workerName;
        this.times = times;
        this.clock = host.clock();
        this.threads = host.threads();
        this.cursors = cursors;
        this.doorbell = doorbell;
        this.invocations = new HandlerSlots(threads);
        this.faults = new FaultAlarm(threads);
        this.turns = new PollTurns(workerName, new PollPermit(faults), cursors, faults, times);
    }

    public Clock clock() {
        return clock;
    }

    public FaultAlarm faults() {
        return faults;
    }

    public PollPermit permit() {
        return turns.permit();
    }

    /** Returns the deadlines of calls in flight. */
    public Deadlines deadlines() {
        return deadlines;
    }

    /** Returns the threads that are inside handlers. */
    public HandlerSlots invocations() {
        return invocations;
    }
}
