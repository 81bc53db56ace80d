package io.waybill.replay.state;

import io.waybill.api.broker.ReplayRun;
import java.util.Objects;
import java.util.Optional;

/**
 * Unrecorded inputs of the handlers of one candidate: calls of their bundles outside of a handler, and inputs that
 * bundles report themselves.
 *
 * <p><b>Threads.</b> Any.
 */
public final class LackedInput implements ReplayRun {

    private Run current; // null while no handler runs; guarded by this

    /** A run of a handler, until it is closed. */
    public final class Run implements AutoCloseable {

        private final Run outer; // outer run; null for none
        private String first; // null while no input is missing; guarded by the outer class

        private Run(Run outer) {
            this.outer = outer;
        }

        /** Returns the first missing input, in a sentence; empty if none is missing. */
        public Optional<String> lacked() {
            synchronized (LackedInput.this) {
                return Optional.ofNullable(first).map(what -> "it needs what is not on record: " + what);
            }
        }

        /** Ends the run, and continues the outer one. */
        @Override
        public void close() {
            synchronized (LackedInput.this) {
                current = outer;
            }
        }
    }

    /** Begins a run of a handler, possibly inside another run. */
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
