package io.waybill.worker.upkeep;

import io.waybill.api.MessageId;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.event.CallListeners;
import io.waybill.exchange.HandlerCall;
import io.waybill.host.Clock;
import io.waybill.worker.poll.HandlerSlot;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.poll.ThreadStack;
import io.waybill.worker.serve.OpenRequests;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds handlers that don't return, and limits their effect on other handlers.
 *
 * <ul>
 * <li>A non-blocking handler that is in the same call at two checks blocks a polling thread: until it returns, its
 * other requests run on the threads of its bundle.
 * <li>A call that runs long after its deadline is stuck: it is logged with its stack and counted, and its thread is
 * replaced.
 * <li>A handler with too many stuck calls is out of service until some return, or its bundle is restarted.
 * <li>A deferred response that does not come counts like a call that does not return: see
 * {@link DeferredResponseWatch}.
 * <li>A non-blocking handler that still runs when its bundle has left is interrupted, and its request completed. Calls
 * on threads of the bundle end with these threads.
 * </ul>
 *
 * <p><b>Threads.</b> The housekeeper's.
 */
public final class Watchdog {

    private static final Logger LOG = LoggerFactory.getLogger(Watchdog.class);

    private final HandlerSlots invocations;
    private final OpenRequests open;
    private final Runnable innerLook;
    private final StuckSettings settings;
    private final CallListeners events;
    private final Clock clock;
    private final StuckCalls counted;
    private final DeferredResponseWatch late;
    private final Map<HandlerSlot, WatchedThread> sightings = new IdentityHashMap<>();

    /**
     * Creates a watchdog.
     *
     * @param innerLook checks the messages that handlers dispatched from inside others
     */
    public Watchdog(HandlerSlots invocations, OpenRequests open, Runnable innerLook, StuckCalls counted, Clock clock) {
        this.invocations = invocations;
        this.open = open;
        this.innerLook = innerLook;
        this.settings = counted.settings();
        this.events = counted.events();
        this.clock = clock;
        this.counted = counted;
        this.late = new DeferredResponseWatch(open, settings, counted, clock);
    }

    /** Gives deferred responses of expired requests no more time, because the worker closes. Any thread. */
    void leave() {
        late.leave();
    }

    /** Returns whether no request is in flight and no thread in a handler: there is nothing to watch. */
    boolean isAtRest() {
        if (open.count() > 0) {
            return false;
        }
        for (Iterator<HandlerSlot> all = invocations.all(); all.hasNext(); ) {
            if (all.next().innermost() != null) {
                return false;
            }
        }
        return true;
    }

    void look() {
        long nowNs = clock.monotonicNs();
        for (Iterator<HandlerSlot> all = invocations.all(); all.hasNext(); ) {
            HandlerSlot slot = all.next();
            if (invocations.threads().isAlive(slot.thread())) {
                look(slot, nowNs);
            } else {
                lift(slot, nowNs);
                sightings.remove(slot);
                all.remove();
            }
        }
        late.look();
        innerLook.run();
        events.look(nowNs);
    }

    private WatchedThread observationOf(HandlerSlot slot) {
        return sightings.computeIfAbsent(slot, added -> new WatchedThread());
    }

    private void look(HandlerSlot slot, long nowNs) {
        WatchedThread observation = observationOf(slot);
        HandlerCall now = slot.innermost();
        long sequence = now == null ? 0 : now.sequence();
        if (now != null && observation.isOf(now, sequence)) {
            observation.again();
            lookAgain(slot, now, sequence, nowNs);
        } else if (now != null && sequence == 0 && observation.isAgain() && observation.isIn(now)) {
            undo(observation);
            observation.completed();
        } else {
            lift(slot, nowNs);
            observation.begin(now, sequence, nowNs);
        }
    }

    /** Checks a thread that is in the same call as at the last check. */
    private void lookAgain(HandlerSlot slot, HandlerCall now, long sequence, long nowNs) {
        HandlerEntry entry = now.entry();
        long deadlineNs = now.deadlineNs();
        boolean inline = slot.isInline();
        if (sequence == 0 || !slot.isStill(now, sequence)) {
            return; // it was completed without the handler, or the values that were read are of several requests
        }
        WatchedThread observation = observationOf(slot);
        if (inline && observation.keepsPoller() == null) {
            entry.keepsPoller();
            observation.keepsPoller(entry);
        }
        if (inline && entry.isGivenUp()) {
            abandon(slot, now, sequence, entry);
        } else if (observation.stuckIn() == null && !now.isWaiting() && isStuck(deadlineNs, observation.ageNs(nowNs))) {
            mark(slot, now, sequence, nowNs);
        }
    }

    private boolean isStuck(long deadlineNs, long ageNs) {
        if (deadlineNs == 0) {
            return settings.withoutDeadlineNs() > 0 && ageNs >= settings.withoutDeadlineNs();
        }
        // seen for as long as that, too: after a suspension the deadline may be long past for a call that was quick
        return clock.bootNs() - deadlineNs >= settings.afterNs() && ageNs >= settings.afterNs();
    }

    private void mark(HandlerSlot slot, HandlerCall now, long sequence, long nowNs) {
        HandlerEntry entry = now.entry();
        long id = now.id();
        HandlerCall outermost = slot.outermost();
        HandlerEntry onThreadsOf = outermost == null ? null : outermost.entry();
        StackTraceElement[] stack = slot.thread().getStackTrace();
        if (!slot.isStill(now, sequence)) {
            return; // it returned in this moment
        }
        observationOf(slot).stuckIn(entry);
        if (counted.add(entry)) {
            // of the bundle that owns the thread: a handler of another one may be stuck on it
            onThreadsOf.executor().writeOff(slot.thread());
            LOG.warn(
                    "{} does not come back from {}: message {}, on {}, for {} ms at least",
                    entry.provider(),
                    entry.key().text(),
                    MessageId.text(id),
                    slot.thread().getName(),
                    observationOf(slot).ageNs(nowNs) / 1_000_000,
                    new ThreadStack(stack));
        }
    }

    /** Undoes the measures for a thread that has left the call. */
    private void lift(HandlerSlot slot, long nowNs) {
        WatchedThread observation = observationOf(slot);
        HandlerEntry entry = observation.stuckIn();
        if (entry != null) {
            LOG.info(
                    "{} came back from {} on {} after {} ms",
                    entry.provider(),
                    entry.key().text(),
                    slot.thread().getName(),
                    observation.ageNs(nowNs) / 1_000_000);
        }
        undo(observation);
        observation.end();
    }

    private void undo(WatchedThread observation) {
        if (observation.keepsPoller() != null) {
            observation.keepsPoller().freesPoller();
        }
        if (observation.stuckIn() != null) {
            counted.remove(observation.stuckIn());
        }
    }

    private static void abandon(HandlerSlot slot, HandlerCall now, long sequence, HandlerEntry entry) {
        LOG.warn(
                "{} left, and does not come back from {} on {}; it is interrupted",
                entry.provider(),
                entry.key().text(),
                slot.thread().getName());
        now.abandon(sequence);
        slot.interrupt(now);
    }
}
