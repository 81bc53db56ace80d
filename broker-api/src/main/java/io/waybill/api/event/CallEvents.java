package io.waybill.api.event;

import java.util.EnumSet;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for what happens to the calls of a worker, those that it makes and those that it serves. A bundle publishes it as a service.
 *
 * <p><b>Threads.</b> The threads of calls: the caller's, the one that polls, and that of the handler. Several at the same time.
 *
 * <p><b>Cost.</b> It delays the calls. It must not block, take locks that others hold for long, make calls, or allocate much.
 *
 * <p><b>Errors.</b> Whatever it throws affects no call. A listener that throws {@value #MAX_FAILURES} times, does not return within a
 * second, or is slow in {@value #MAX_SLOW} samples in a row is dropped until its bundle publishes it again.
 */
@ConsumerType
@FunctionalInterface
public interface CallEvents {

    /** Number of exceptions after which a listener is dropped. */
    int MAX_FAILURES = 10;

    /** Number of slow samples in a row after which a listener is dropped. One event in 64 is a sample; slow is more than 1 ms. */
    int MAX_SLOW = 10;

    /**
     * Returns the kinds of events that it is notified of; all of them by default. Others cost nothing. Asked once, when it is added; what it
     * throws, and null, stand for all kinds.
     */
    default Set<CallEvent.Kind> kinds() {
        return EnumSet.allOf(CallEvent.Kind.class);
    }

    /**
     * Notifies of an event.
     *
     * @param event valid until this returns, and reused afterwards
     */
    void onEvent(CallEvent event);
}
