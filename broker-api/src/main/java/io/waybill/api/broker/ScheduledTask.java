package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** A task that a {@link Broker} is to run later. Thread-safe. */
@ProviderType
public interface ScheduledTask {

    /**
     * Cancels the task, unless it has begun. Repeated calls do nothing.
     *
     * @return whether this call has prevented it
     */
    boolean cancel();

    /** Whether it is neither begun nor cancelled. */
    boolean isScheduled();
}
