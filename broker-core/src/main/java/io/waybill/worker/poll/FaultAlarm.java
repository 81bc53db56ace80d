package io.waybill.worker.poll;

import io.waybill.host.failure.MappedFaults;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Faults on mapped memory that came to light where it is not known which file it was. The thread that polls next looks at the files of all peers.
 *
 * <p><b>Threads.</b> Any may raise it; the holder of the {@link PollPermit} lowers it.
 */
public final class FaultAlarm {

    private static final Logger LOG = LoggerFactory.getLogger(FaultAlarm.class);

    // Set by any thread, cleared by the permit's holder before it looks.
    private volatile boolean raised;

    public boolean isRaised() {
        return raised;
    }

    public void raise() {
        raised = true;
    }

    public void lower() {
        raised = false;
    }

    /** Lets out what this thread met, before it goes on with something else. */
    public void surface() {
        try {
            MappedFaults.surface();
        } catch (InternalError e) {
            report(e);
        }
    }

    /** An error, most likely a fault, surfaced in something that can go on. */
    public void report(Throwable fault) {
        if (MappedFaults.is(fault)) {
            LOG.debug("A fault in a mapped file came to light", fault);
            raise();
        } else {
            LOG.error("A thread of the worker met an error and goes on", fault);
        }
    }
}
