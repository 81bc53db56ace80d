package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** Named counter of a bundle in its worker. Only grows. Thread-safe; does not block, and allocates nothing. */
@ProviderType
public interface Counter {

    /** Adds one. */
    void increment();

    /**
     * Adds a count.
     *
     * @throws IllegalArgumentException if the count is negative
     */
    void add(long count);

    /** Returns the count. */
    long sum();
}
