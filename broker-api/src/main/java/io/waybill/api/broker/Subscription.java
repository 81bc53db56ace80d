package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** Registration of a listener or a gauge at a {@link Broker}. Thread-safe. */
@ProviderType
public interface Subscription extends AutoCloseable {

    /**
     * Closes the registration: no call begins after this method returns, but a running one may continue. Idempotent.
     */
    @Override
    void close();
}
