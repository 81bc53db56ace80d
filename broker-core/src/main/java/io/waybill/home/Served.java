package io.waybill.home;

import java.util.List;

/**
 * The handlers of a worker, as published to its peers. Immutable.
 *
 * @param keys of its handlers
 * @param atLeastOnce those of them whose requests are run again when the worker ends and returns
 */
public record Served(List<String> keys, List<String> atLeastOnce) {

    /** No handlers. */
    public static final Served NOTHING = new Served(List.of(), List.of());

    public Served {
        keys = List.copyOf(keys);
        atLeastOnce = List.copyOf(atLeastOnce);
    }
}
