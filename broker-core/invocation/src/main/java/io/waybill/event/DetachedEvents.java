package io.waybill.event;

import io.waybill.api.context.ThreadContext;
import io.waybill.host.Threads;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Queue of events that a separate thread delivers, which ends when there are none.
 *
 * <p><b>Threads.</b> Any thread adds.
 */
final class DetachedEvents {

    private static final int MAX_WAITING = 1024;

    private final CallListeners listeners;
    private final Threads threads;
    private final Deque<EventView> waiting = new ArrayDeque<>(); // guarded by itself
    private Object turn; // token of the thread that delivers; null for none; guarded by waiting
    private Thread thread; // guarded by waiting

    DetachedEvents(CallListeners listeners, Threads threads) {
        this.listeners = listeners;
        this.threads = threads;
    }

    /** Adds an event, unless too many wait. */
    void add(EventView event) {
        synchronized (waiting) {
            if (waiting.size() >= MAX_WAITING) {
                return;
            }
            waiting.add(event);
            if (turn != null) {
                return;
            }
        }
        begin();
    }

    private void begin() {
        Object own = new Object();
        synchronized (waiting) {
            turn = own;
        }
        threads.startWhenPossible("waybill-call-events", () -> run(own));
    }

    /** Lets another thread continue if the given one delivers, and does not return from a listener. */
    void replace(Thread hanging) {
        synchronized (waiting) {
            if (turn == null || thread != hanging) {
                return;
            }
        }
        begin();
    }

    private void run(Object own) {
        ThreadContext context = ThreadContext.own();
        while (true) {
            EventView event;
            synchronized (waiting) {
                if (turn != own) {
                    return;
                }
                thread = Thread.currentThread();
                event = waiting.poll();
                if (event == null) {
                    turn = null;
                    return;
                }
            }
            listeners.notify(event);
            context.leave(null); // removes anything that listeners left behind
        }
    }
}
