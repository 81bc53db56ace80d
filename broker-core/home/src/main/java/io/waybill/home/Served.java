package io.waybill.home;

import java.util.List;

/**
 * Handlers of a worker, as published to its peers. Immutable.
 *
 * @param keys keys of the handlers
 * @param atLeastOnce keys whose requests are run again when the worker ends and returns
 */
public record Served(List<String> keys, List<String> atLeastOnce) {

    /**
     * Max size of the names of all functions and operations: half of a worker's record. Names beyond it are left out.
     */
    public static final int MAX_NAME_BYTES = 32 << 10;

    /** Value without handlers. */
    public static final Served NOTHING = new Served(List.of(), List.of());

    public Served {
        keys = List.copyOf(keys);
        atLeastOnce = List.copyOf(atLeastOnce);
    }
}
