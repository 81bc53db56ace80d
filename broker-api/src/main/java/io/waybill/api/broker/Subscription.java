package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** A listener of a {@link Broker}, until it is closed or the bundle ends. Thread-safe. */
@ProviderType
public interface Subscription extends AutoCloseable {

    /** Ends it: no call begins after this returns; one that runs may go on. Repeated calls do nothing. */
    @Override
    void close();
}
