package io.waybill.host;

/**
 * Clocks that the core reads.
 *
 * <p><b>Threads.</b> Any thread may read. <b>Units.</b> Nanoseconds.
 */
public interface Clock {

    /**
     * Returns the time that passes while the host is awake; the same reading for every process of the host. For
     * intervals.
     */
    long monotonicNs();

    /**
     * Returns the time that also passes while the host is suspended; the same reading for every process of the host.
     * For deadlines.
     */
    long bootNs();

    /**
     * Returns nanoseconds since 1970, for display. May move back when the clock is set, but only in {@link #refresh()}.
     */
    long wallNs();

    /** Returns {@link #wallNs} for a time of {@link #bootNs}, without reading the clock. */
    default long wallNsAt(long bootNs) {
        return wallNs() - bootNs() + bootNs;
    }

    /** Measures the cached offsets again. To be called about ten times a second by one housekeeping thread. */
    default void refresh() {}
}
