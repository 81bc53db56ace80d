package io.waybill.worker.poll;

import io.waybill.host.Threads;
import io.waybill.host.failure.MappedFaults;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Alarm for faults on mapped memory whose file is unknown. The thread that polls next checks the files of all peers.
 *
 * <p><b>Threads.</b> Any thread may raise it; the holder of the {@link PollPermit} clears it.
 */
public final class FaultAlarm {

    private static final Logger LOG = LoggerFactory.getLogger(FaultAlarm.class);

    private final Threads threads;

    // Set by any thread, cleared by the permit's holder before it checks.
    private volatile boolean raised;

    /** Creates an alarm that also unparks these threads. */
    public FaultAlarm(Threads threads) {
        this.threads = threads;
    }

    Threads threads() {
        return threads;
    }

    public boolean isRaised() {
        return raised;
    }

    public void raise() {
        raised = true;
    }

    public void lower() {
        raised = false;
    }

    /** Surfaces the faults of this thread before it continues with other work. */
    public void surface() {
        try {
            MappedFaults.surface();
        } catch (InternalError e) {
            report(e);
        }
    }

    /**
     * Unparks a thread. That enters the virtual machine, where JDK 17 reports earlier faults of the calling thread:
     * they do not belong to the code that runs there.
     */
    void unpark(Thread waiting) {
        try {
            threads.unpark(waiting);
        } catch (InternalError e) {
            report(e);
            threads.unpark(waiting); // the first unpark may have had no effect
        }
    }

    /** Reports an error, most likely a fault, that the caller survives. */
    public void report(Throwable fault) {
        if (MappedFaults.is(fault)) {
            LOG.debug("A fault in a mapped file came to light", fault);
            raise();
        } else {
            LOG.error("A thread of the worker met an error and goes on", fault);
        }
    }
}
