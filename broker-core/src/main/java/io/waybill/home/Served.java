package io.waybill.home;

import java.util.List;

/**
 * The handlers of a worker, as published to its peers. Immutable.
 *
 * @param keys of its handlers
 * @param atLeastOnce those of them whose requests are run again when the worker ends and returns
 */
public record Served(List<String> keys, List<String> atLeastOnce) {

    /** Room for the names of all functions and operations: half of a worker's record. What has no room is left out. */
    public static final int MAX_NAME_BYTES = 32 << 10;

    /** No handlers. */
    public static final Served NOTHING = new Served(List.of(), List.of());

    public Served {
        keys = List.copyOf(keys);
        atLeastOnce = List.copyOf(atLeastOnce);
    }
}
