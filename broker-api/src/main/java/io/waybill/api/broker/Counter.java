package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** A count that a bundle keeps in its worker, by name. Only grows. Thread-safe; does not block, and allocates nothing. */
@ProviderType
public interface Counter {

    /** Adds one. */
    void increment();

    /**
     * Adds several.
     *
     * @throws IllegalArgumentException when negative
     */
    void add(long count);

    /** The count. */
    long sum();
}
