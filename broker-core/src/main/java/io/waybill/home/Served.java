package io.waybill.home;

import java.util.List;

/**
 * What a worker answers, as it tells the others. Immutable.
 *
 * @param keys of its handlers
 * @param atLeastOnce those of them whose requests are run again when the worker dies and returns
 */
public record Served(List<String> keys, List<String> atLeastOnce) {

    /** Nothing. */
    public static final Served NOTHING = new Served(List.of(), List.of());

    public Served {
        keys = List.copyOf(keys);
        atLeastOnce = List.copyOf(atLeastOnce);
    }
}
