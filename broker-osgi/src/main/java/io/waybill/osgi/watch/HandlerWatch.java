package io.waybill.osgi.watch;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Records the first {@link UnrecordedInput} of one run of a handler: of the thread that runs it, and of threads started
 * by it.
 *
 * <p><b>Threads.</b> {@link #begin} and {@link #leave} belong to the thread that runs the handler; the rest is for any.
 * <b>Lifetime.</b> Until {@link #end}. Threads that continue are not observed then.
 */
public final class HandlerWatch {

    /** Which handler's a thread is; what a handler starts is the handler's. */
    private static final InheritableThreadLocal<HandlerWatch> CURRENT = new InheritableThreadLocal<>();

    private static final UnrecordedInput ENDED = new UnrecordedInput("", "");

    // written by the threads of the handler and by the one that ends the watch; the first one to write wins
    private final AtomicReference<UnrecordedInput> first = new AtomicReference<>();

    private HandlerWatch outer; // of the handler during which this one runs; null for none. Of the handler's thread

    private HandlerWatch() {}

    /** Attaches this thread to a new run of a handler. */
    public static HandlerWatch begin() {
        HandlerWatch watch = new HandlerWatch();
        watch.outer = CURRENT.get();
        CURRENT.set(watch);
        return watch;
    }

    /** Restores this thread's previous run; threads that it started stay with this one. */
    public void leave() {
        if (outer == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(outer);
        }
        outer = null;
    }

    /** The first bypass; nothing is noted any more. The same again when called again. */
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
