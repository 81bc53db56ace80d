package io.waybill.event;

import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listener with its failures. The boundary around it.
 *
 * <p><b>Threads.</b> Any. The counts of samples are not exact, because they cost nothing.
 */
final class ListenerEntry {

    private static final Logger LOG = LoggerFactory.getLogger(ListenerEntry.class);
    private static final int SAMPLE_MASK = 63;
    private static final long SLOW_NS = 1_000_000;
    static final int MAX_HELD = 16_384;

    private final String provider;
    private final Runnable charge;
    private final CallListeners owner;
    private final Clock clock;
    private final int kinds; // one bit for each kind that it wants
    private final AtomicInteger failures = new AtomicInteger();
    private volatile CallEvents listener; // null once it is removed: events of threads refer to the entry for longer
    private int events; // racy
    private int slow; // racy: samples in a row
    private volatile String dropped = ""; // reason; empty while it is called
    private volatile boolean held; // a thread does not return: others queue their events; written under heldEvents
    private final Deque<EventView> heldEvents = new ArrayDeque<>(); // guarded by itself
    private long missed; // guarded by heldEvents: number of events for which there was no room
    private boolean resuming; // guarded by heldEvents
    private long heldNs; // by the housekeeper: last time at which a thread did not return

    ListenerEntry(String provider, CallEvents listener, Runnable charge, CallListeners owner, Clock clock) {
        this.provider = provider;
        this.listener = listener;
        this.charge = charge;
        this.owner = owner;
        this.clock = clock;
        this.kinds = wanted();
    }

    private int wanted() {
        try {
            int wanted = 0;
            for (CallEvent.Kind kind : listener.kinds()) {
                wanted |= 1 << kind.ordinal();
            }
            return wanted;
        } catch (Throwable e) { // the boundary around a listener
            failed(e);
            return -1;
        }
    }

    /** Drops the reference to the listener, so that its bundle's class loader can be collected. */
    void release() {
        listener = null;
    }

    /** Returns the kinds of events that it wants, one bit for each. */
    int kinds() {
        return kinds;
    }

    String provider() {
        return provider;
    }

    /** Returns why it is not called any more; empty while it is. */
    String dropped() {
        return dropped;
    }

    int failures() {
        return failures.get();
    }

    /**
     * Calls the listener, or keeps the event for later while another thread does not return from it. Does not throw.
     */
    void call(EventView event) {
        if (!held || !keep(event.copy())) {
            deliver(event);
        }
    }

    private boolean keep(EventView event) {
        synchronized (heldEvents) {
            if (held && heldEvents.size() < MAX_HELD) {
                heldEvents.add(event);
            } else if (held) {
                missed++;
            }
            return held;
        }
    }

    /** Keeps further events for later, because a thread does not return. By the housekeeper. */
    void hold(long nowNs) {
        heldNs = nowNs;
        if (!held) {
            synchronized (heldEvents) {
                held = true;
            }
        }
    }

    /**
     * Returns whether no thread stays inside any more, so that the caller must start one {@link #resume}. By the
     * housekeeper.
     */
    boolean beginsResume(long nowNs) {
        if (!held || heldNs == nowNs) {
            return false;
        }
        synchronized (heldEvents) {
            boolean begins = !resuming;
            resuming = true;
            return begins;
        }
    }

    /** Delivers the queued events, in order, and lets all threads call the listener again. */
    void resume() {
        for (EventView event = nextHeld(); event != null; event = nextHeld()) {
            deliver(event);
        }
    }

    /** Returns the next queued event; null when there is none, and threads may call the listener. */
    private EventView nextHeld() {
        long lost;
        synchronized (heldEvents) {
            EventView event = heldEvents.poll();
            if (event != null && dropped.isEmpty()) {
                return event;
            }
            lost = missed;
            missed = 0;
            heldEvents.clear();
            held = false;
            resuming = false;
        }
        if (lost > 0) {
            charge.run();
            LOG.warn(
                    "The CallEvents listener of {} did not return for a while, and missed {} events: {} are kept at most",
                    provider,
                    lost,
                    MAX_HELD);
        }
        return null;
    }

    private void deliver(EventView event) {
        CallEvents to = listener;
        if (to == null) {
            return;
        }
        event.enter(this);
        boolean pending = Threads.hideInterrupt();
        try {
            if ((++events & SAMPLE_MASK) == 0) {
                callTimed(to, event);
            } else {
                to.onEvent(event);
            }
        } catch (Throwable e) { // the boundary around a listener
            failed(e);
        } finally {
            Threads.restoreInterrupt(pending);
            event.leave();
        }
    }

    private void callTimed(CallEvents to, EventView event) {
        long sinceNs = clock.monotonicNs();
        to.onEvent(event);
        if (clock.monotonicNs() - sinceNs <= SLOW_NS) {
            slow = 0;
        } else if (++slow >= CallEvents.MAX_SLOW) {
            drop("it took more than 1 ms in " + CallEvents.MAX_SLOW + " samples in a row");
        }
    }

    private void failed(Throwable e) {
        int count = failures.incrementAndGet();
        charge.run();
        if (count == 1) {
            ForeignErrors.warn(LOG, "The CallEvents listener of " + provider + " failed", e);
        }
        if (count == CallEvents.MAX_FAILURES) {
            drop("it failed " + count + " times, last with " + ForeignErrors.describe(e));
        }
    }

    void drop(String why) {
        synchronized (this) {
            if (!dropped.isEmpty()) {
                return;
            }
            dropped = why;
        }
        charge.run();
        owner.remove(this);
        LOG.error("The CallEvents listener of {} is dropped: {}; update its bundle or restart it", provider, why);
    }
}
