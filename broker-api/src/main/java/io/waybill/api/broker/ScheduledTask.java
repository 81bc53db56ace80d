package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/** A task that a {@link Broker} runs later. Thread-safe. */
@ProviderType
public interface ScheduledTask {

    /**
     * Cancels the task unless it has begun. Idempotent.
     *
     * @return whether this call prevented the task from running
     */
    boolean cancel();

    /** Returns whether the task has neither begun nor been cancelled. */
    boolean isScheduled();
}
