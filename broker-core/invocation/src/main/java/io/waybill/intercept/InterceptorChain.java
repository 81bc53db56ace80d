package io.waybill.intercept;

import java.util.List;

/**
 * Chain of the interceptors of one kind of message, the highest ranking first. Immutable.
 *
 * @param <T> the kind of interceptor
 */
public final class InterceptorChain<T> {

    private final InterceptorEntry<T>[] entries;
    private final boolean seesOutcomes;
    private final boolean isAlwaysIntercepting;

    @SuppressWarnings({"unchecked", "rawtypes"}) // an array of a generic type
    InterceptorChain(List<InterceptorEntry<T>> ordered) {
        this.entries = ordered.toArray(new InterceptorEntry[0]);
        this.seesOutcomes = ordered.stream().anyMatch(InterceptorEntry::seesOutcomes);
        this.isAlwaysIntercepting = ordered.stream().anyMatch(InterceptorEntry::isAlwaysIntercepting);
    }

    public int size() {
        return entries.length;
    }

    public InterceptorEntry<T> get(int index) {
        return entries[index];
    }

    /**
     * Returns whether any of them is called again after its first method: with the outcome, or when an attempt failed.
     */
    public boolean seesOutcomes() {
        return seesOutcomes;
    }

    /**
     * Returns whether any of them takes part in calls now. Only for a call that is counted in, on its thread: the
     * interceptors may be asked.
     */
    public boolean isIntercepting() {
        if (isAlwaysIntercepting) {
            return true;
        }
        for (InterceptorEntry<T> entry : entries) {
            if (entry.isIntercepting()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Counts a call in at every interceptor; returns false, and counts it nowhere, when one was withdrawn: the new
     * table is about to be there.
     */
    public boolean begin() {
        return begin(false);
    }

    /** Counts in a call of a request in flight, also at interceptors that are withdrawn and have not left. */
    public boolean beginNested() {
        return begin(true);
    }

    /** Returns whether one of them was withdrawn. */
    boolean isAway() {
        for (InterceptorEntry<T> entry : entries) {
            if (entry.isWithdrawn()) {
                return true;
            }
        }
        return false;
    }

    private boolean begin(boolean isNested) {
        for (int i = 0; i < entries.length; i++) {
            if (!(isNested ? entries[i].beginNested() : entries[i].begin())) {
                while (--i >= 0) {
                    entries[i].end();
                }
                return false;
            }
        }
        return true;
    }

    /** Counts a call out at every interceptor. */
    public void end() {
        for (InterceptorEntry<T> entry : entries) {
            entry.end();
        }
    }
}
