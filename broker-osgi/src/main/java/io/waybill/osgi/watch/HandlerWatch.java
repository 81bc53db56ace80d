package io.waybill.osgi.watch;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Records the first {@link UnrecordedInput} of one run of a handler: on the thread that runs it, and on threads started
 * by it.
 *
 * <p><b>Threads.</b> {@link #begin} and {@link #leave}: the thread that runs the handler. Other methods: any.
 * <b>Lifetime.</b> Until {@link #end}. Threads that continue after that are not observed.
 */
public final class HandlerWatch {

    /** Watch of the handler that a thread runs; inherited by the threads that a handler starts. */
    private static final InheritableThreadLocal<HandlerWatch> CURRENT = new InheritableThreadLocal<>();

    private static final UnrecordedInput ENDED = new UnrecordedInput("", "");

    // written by the threads of the handler and by the thread that ends the watch; the first write wins
    private final AtomicReference<UnrecordedInput> first = new AtomicReference<>();

    private HandlerWatch outer; // watch of the outer handler; null for none. Owned by the handler's thread

    private HandlerWatch() {}

    /** Attaches this thread to a new run of a handler. */
    public static HandlerWatch begin() {
        HandlerWatch watch = new HandlerWatch();
        watch.outer = CURRENT.get();
        CURRENT.set(watch);
        return watch;
    }

    /** Restores this thread's previous run; threads that it started keep this run. */
    public void leave() {
        if (outer == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(outer);
        }
        outer = null;
    }

    /** Returns the first unrecorded input and stops recording. Idempotent. */
    public Optional<UnrecordedInput> end() {
        first.compareAndSet(null, ENDED);
        UnrecordedInput noted = first.get();
        return noted == ENDED ? Optional.empty() : Optional.of(noted);
    }

    /** Called by rewritten classes. */
    public static void note(String what, String where) {
        HandlerWatch watch = CURRENT.get();
        if (watch != null && watch.first.get() == null) {
            watch.first.compareAndSet(null, new UnrecordedInput(what, where));
        }
    }
}
