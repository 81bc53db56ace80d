package io.waybill.tensor.memory;

import io.waybill.api.device.MappingListener;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.memory.MappedSegments.Mapped;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queue of the notifications of one listener, and the boundary around it. Has a thread while there is something to do.
 *
 * <p><b>Threads.</b> Thread-safe; all state is guarded by the lock of {@link MappedSegments}. <b>Errors.</b> An
 * exception of the listener is reported as a failure. A listener that does not return is abandoned: it is called no
 * more, and holds nothing.
 */
final class ListenerQueue {

    private static final Logger LOG = LoggerFactory.getLogger(ListenerQueue.class);

    private final MappedSegments owner;
    private final Object lock;
    private final String name;
    private final MappingListener listener;
    private final BiConsumer<String, Throwable> failures;
    private final ArrayDeque<Notice> waiting = new ArrayDeque<>();
    private final Set<Mapped> held = new HashSet<>(); // segments of whose end it is to be notified
    private final Set<Mapped> refused = new HashSet<>(); // segments for which mapped() threw
    private boolean running; // while there is a notice to deliver
    private Thread thread; // own thread of the queue while it runs, once it has started
    private Notice current; // null while the listener is not called
    private long sinceNs;
    private boolean leaving;
    private boolean givenUp;

    private record Notice(Mapped of, boolean isEnd) {
        String method() {
            return isEnd ? "unmapping()" : "mapped()";
        }
    }

    ListenerQueue(MappedSegments owner, String name, MappingListener listener, BiConsumer<String, Throwable> failures) {
        this.owner = owner;
        this.lock = owner.lock();
        this.name = name;
        this.listener = listener;
        this.failures = failures;
    }

    /** Queues a segment that was mapped. Under the lock. */
    void begin(Mapped mapped) {
        mapped.holders.add(this);
        held.add(mapped);
        add(new Notice(mapped, false));
    }

    /** Queues the end of a segment, once. Under the lock. */
    void end(Mapped mapped) {
        if (!leaving) { // otherwise it is queued already
            add(new Notice(mapped, true));
        }
    }

    /** Queues the end of all segments. Under the lock. */
    void leave(Set<Mapped> present) {
        if (!leaving && !givenUp) {
            present.stream().filter(held::contains).forEach(this::end);
        }
        leaving = true;
    }

    private void add(Notice notice) {
        waiting.add(notice);
        if (!running) {
            running = true;
            owner.start(this::run);
        }
    }

    boolean isOwnThread() {
        synchronized (lock) {
            return thread == Thread.currentThread();
        }
    }

    /** Returns whether the listener is not called any more, once it leaves. */
    boolean hasEnded() {
        synchronized (lock) {
            return !running || givenUp;
        }
    }

    private void run() {
        synchronized (lock) {
            thread = Thread.currentThread();
        }
        Notice next = next();
        while (next != null) {
            boolean done = call(next);
            Runnable free = ended(next, done);
            if (free != null) {
                unmap(free);
            }
            next = next();
        }
    }

    private Notice next() {
        synchronized (lock) {
            current = givenUp ? null : waiting.poll();
            sinceNs = owner.nowNs();
            if (current == null) {
                running = false;
                thread = null;
                if (leaving) {
                    owner.ended(this);
                }
            }
            return current;
        }
    }

    /** Calls the listener. Returns whether it returned normally. */
    private boolean call(Notice notice) {
        if (notice.isEnd() && isRefused(notice.of())) {
            return true;
        }
        Thread own = Thread.currentThread();
        ClassLoader before = own.getContextClassLoader();
        Thread.interrupted(); // interrupt of the call before
        try {
            own.setContextClassLoader(listener.getClass().getClassLoader());
            if (notice.isEnd()) {
                listener.unmapping(notice.of().segment);
            } else {
                listener.mapped(notice.of().segment);
            }
            return true;
        } catch (Throwable e) { // the boundary around a listener
            failures.accept(name + " threw in " + notice.method() + ": " + ForeignErrors.describe(e), e);
            return false;
        } finally {
            own.setContextClassLoader(before);
        }
    }

    private boolean isRefused(Mapped mapped) {
        synchronized (lock) {
            return refused.remove(mapped);
        }
    }

    private Runnable ended(Notice notice, boolean returned) {
        synchronized (lock) {
            current = null;
            if (givenUp) {
                return null;
            }
            if (notice.isEnd()) {
                held.remove(notice.of());
                return notice.of().released(this);
            }
            if (!returned) {
                refused.add(notice.of());
            }
            return null;
        }
    }

    /** Abandons the listener if it does not return. */
    void look(long nowNs) {
        Notice inside;
        synchronized (lock) {
            inside = current;
            if (inside == null || nowNs - sinceNs < MappedSegments.LIMIT_NS) {
                return;
            }
        }
        giveUp(inside.method());
    }

    /** Calls the listener no more, and unmaps segments that only it holds. */
    void giveUp(String what) {
        List<Runnable> unmapped = new ArrayList<>();
        synchronized (lock) {
            if (givenUp) {
                return;
            }
            givenUp = true;
            waiting.clear();
            for (Mapped mapped : held) {
                Runnable free = mapped.released(this);
                if (free != null) {
                    unmapped.add(free);
                }
            }
            held.clear();
            if (current != null) { // so that the thread is inside the listener
                thread.interrupt();
            }
            owner.ended(this);
        }
        failures.accept(
                name + " has not returned from " + what + " for " + MappedSegments.LIMIT_NS / 1_000_000
                        + " ms, and is called no more for segments",
                null);
        unmapped.forEach(ListenerQueue::unmap);
    }

    private static void unmap(Runnable free) {
        try {
            free.run();
        } catch (RuntimeException e) { // the next segment is unmapped all the same
            LOG.error("A segment could not be unmapped", e);
        }
    }
}
