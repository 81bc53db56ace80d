package io.waybill.replay.state;

import io.waybill.api.broker.ReplayRun;
import java.util.Objects;
import java.util.Optional;

/**
 * What the handlers of one candidate needed, and no record has: the calls of their bundles outside of a handler, and what bundles name themselves.
 *
 * <p><b>Threads.</b> Any.
 */
public final class LackedInput implements ReplayRun {

    private Run current; // null while no handler runs; guarded by this

    /** A run of a handler, until it is closed. */
    public final class Run implements AutoCloseable {

        private final Run outer; // during which it runs; null for none
        private String first; // null while it lacks nothing; guarded by the outer class

        private Run(Run outer) {
            this.outer = outer;
        }

        /** Returns what it lacked first, in a sentence; empty when it lacked nothing. */
        public Optional<String> lacked() {
            synchronized (LackedInput.this) {
                return Optional.ofNullable(first).map(what -> "it needs what is not on record: " + what);
            }
        }

        /** Ends it, and continues the one during which it ran. */
        @Override
        public void close() {
            synchronized (LackedInput.this) {
                current = outer;
            }
        }
    }

    /** Begins a run of a handler, which may be during another one. */
    public synchronized Run begin() {
        current = new Run(current);
        return current;
    }

    @Override
    public synchronized void lacks(String what) {
        Objects.requireNonNull(what);
        if (current != null && current.first == null) {
            current.first = what;
        }
    }
}
