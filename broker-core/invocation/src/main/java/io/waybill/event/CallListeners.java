package io.waybill.event;

import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Registry of the listeners for events of calls. While there is no listener, {@link #isEmpty()} is one read of a field,
 * and nothing else is done.
 *
 * <p><b>Threads.</b> Any. Events that no thread may deliver itself, because foreign code could stop other work there,
 * are delivered by a thread of this object.
 */
public final class CallListeners {

    private static final long HANGS_NS = 1_000_000_000;
    private static final long HELD_NS = 100_000_000;
    /** Time above the housekeeper's max rest. */
    private static final long PAUSED_NS = 500_000_000;

    private final Clock clock;
    private final OperationNames names = new OperationNames();
    private final DetachedEvents detached;
    private final Threads threads;
    private final Queue<WeakReference<EventView>> views = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<EventView> own;
    private final List<ListenerEntry> droppedEntries = new ArrayList<>(); // guarded by this
    private volatile ListenerEntry[] entries; // null for none; written under this
    private long lookedNs; // used by the housekeeper
    private volatile int wanted; // one bit for each kind that any listener wants; written under this

    /** Registration of a listener. Thread-safe. */
    public interface Registration {

        /** Removes the listener. Threads may still be in it. Does nothing when repeated. */
        void remove();
    }

    public CallListeners(Threads threads, Clock clock) {
        this.clock = clock;
        this.threads = threads;
        this.own = threads.local();
        this.detached = new DetachedEvents(this, threads);
    }

    /**
     * Adds a listener.
     *
     * @param provider name and version of the bundle or program, for the log
     */
    public Registration add(String provider, CallEvents listener) {
        return add(provider, listener, () -> {});
    }

    /**
     * Adds a listener.
     *
     * @param provider name and version of the bundle or program, for the log
     * @param charge counts a failure of the provider
     */
    public Registration add(String provider, CallEvents listener, Runnable charge) {
        ListenerEntry entry = new ListenerEntry(provider, Objects.requireNonNull(listener), charge, this, clock);
        synchronized (this) {
            List<ListenerEntry> more = current();
            more.add(entry);
            publish(more);
        }
        return () -> {
            remove(entry);
            entry.release();
            synchronized (this) {
                droppedEntries.remove(entry);
            }
        };
    }

    private List<ListenerEntry> current() {
        ListenerEntry[] now = entries;
        return now == null ? new ArrayList<>() : new ArrayList<>(List.of(now));
    }

    private void publish(List<ListenerEntry> listeners) {
        entries = listeners.isEmpty() ? null : listeners.toArray(ListenerEntry[]::new);
        wanted = listeners.stream().mapToInt(ListenerEntry::kinds).reduce(0, (all, more) -> all | more);
    }

    synchronized void remove(ListenerEntry entry) {
        List<ListenerEntry> fewer = current();
        if (fewer.remove(entry)) {
            publish(fewer);
            if (!entry.dropped().isEmpty()) {
                droppedEntries.add(entry);
            }
        }
    }

    /** Returns why a listener of a provider is not called; empty when all listeners are called. */
    public synchronized Optional<String> problem(String provider) {
        return droppedEntries.stream()
                .filter(entry -> entry.provider().equals(provider))
                .map(entry -> "its CallEvents listener is dropped: " + entry.dropped())
                .findFirst();
    }

    /** Returns whether no listener is there. One volatile read. */
    public boolean isEmpty() {
        return entries == null;
    }

    /** Returns whether a listener wants events of a kind. One volatile read. */
    public boolean wants(CallEvent.Kind kind) {
        return (wanted & 1 << kind.ordinal()) != 0;
    }

    /** Creates an event for one thread, or for another thread to which it is passed. */
    public EventView newEvent() {
        EventView view = new EventView(this);
        views.add(new WeakReference<>(view));
        return view;
    }

    /**
     * Returns the calling thread's own event; null while a listener is called with it, whose calls are not reported.
     */
    public EventView own() {
        EventView view = own.get();
        if (view == null) {
            view = newEvent();
            own.set(view);
        }
        return view.isOpen() ? null : view;
    }

    /** Calls the listeners, on this thread. Does not throw. */
    public void notify(EventView event) {
        ListenerEntry[] now = entries;
        if (now != null) {
            for (ListenerEntry entry : now) {
                if ((entry.kinds() & event.kindBit()) != 0) {
                    entry.call(event);
                }
            }
        }
    }

    /** Calls the listeners on another thread, or drops the event if too many wait. */
    public void notifyElsewhere(EventView event) {
        detached.add(event.copy());
    }

    /**
     * Lets other threads bypass listeners that don't return, and drops such listeners after a while. By the
     * housekeeper.
     */
    public void look(long nowNs) {
        boolean isFirst = nowNs - lookedNs > PAUSED_NS; // the process was stopped, and no thread could return
        lookedNs = nowNs;
        for (Iterator<WeakReference<EventView>> all = views.iterator(); all.hasNext(); ) {
            EventView view = all.next().get();
            if (view == null) {
                all.remove();
                continue;
            }
            long insideNs = view.insideNs(nowNs, isFirst);
            ListenerEntry hanging = view.inside();
            if (insideNs >= HELD_NS) {
                hanging.hold(nowNs);
            }
            if (insideNs >= HANGS_NS && view.isFirstReport()) {
                Thread thread = view.thread();
                StackTraceElement[] stack = thread.getStackTrace();
                thread.interrupt(); // its call may continue
                hanging.drop("it has not returned for 1 s, on " + thread.getName() + ", at "
                        + (stack.length == 0 ? "its end" : stack[0]));
                detached.replace(thread);
            }
        }
        resume(nowNs);
    }

    private void resume(long nowNs) {
        ListenerEntry[] now = entries;
        if (now != null) {
            for (ListenerEntry entry : now) {
                if (entry.beginsResume(nowNs)) {
                    threads.startWhenPossible("waybill-call-events", entry::resume);
                }
            }
        }
    }

    OperationNames names() {
        return names;
    }

    Clock clock() {
        return clock;
    }
}
