package io.waybill.api.event;

import java.util.EnumSet;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for the events of a worker's calls, outgoing and served. A bundle publishes it as a service.
 *
 * <p><b>Threads.</b> Threads of calls, concurrently: the caller's, the poller, and the handler's.
 *
 * <p><b>Cost.</b> It delays the calls. It must not block, wait for long-held locks, make calls, or allocate much.
 *
 * <p><b>Errors.</b> An exception affects no call. A listener that throws {@value #MAX_FAILURES} times, does not return
 * within a second, or is slow in {@value #MAX_SLOW} samples in a row is dropped until its bundle publishes it again.
 */
@ConsumerType
@FunctionalInterface
public interface CallEvents {

    /** Number of exceptions after which a listener is dropped. */
    int MAX_FAILURES = 10;

    /**
     * Number of slow samples in a row after which a listener is dropped. One event in 64 is a sample; slow is more
     * than 1 ms.
     */
    int MAX_SLOW = 10;

    /**
     * Returns the kinds of events to deliver; all kinds by default. Other kinds have no cost. Called once, when the
     * listener is added; an exception or null means all kinds.
     */
    default Set<CallEvent.Kind> kinds() {
        return EnumSet.allOf(CallEvent.Kind.class);
    }

    /**
     * Called for each event.
     *
     * @param event valid until this returns, and reused afterwards
     */
    void onEvent(CallEvent event);
}
