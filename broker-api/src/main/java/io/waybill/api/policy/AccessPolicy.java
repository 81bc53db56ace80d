package io.waybill.api.policy;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Policy that decides which requests a worker serves. Published as a service by a bundle, or registered by a program.
 *
 * <p>Called once for each request, before the lookup of its handler, and once more for a request that a restarted
 * worker runs again. For an inner message it is called at dispatch. With several policies, each must allow the request.
 * Policies do not apply to the messages that count remote references, or to replays, and to the broker's control
 * messages (kinds 0xf0–0xff, such as those that install and remove bundles) only if they
 * {@linkplain #decidesControlCalls declare it}.
 *
 * <p>A policy that throws, returns null or does not return within {@value #MAX_MILLIS} ms refuses the request. While
 * the bundle of an installed policy is updated or stopped, requests wait for it up to the parking limit, and are then
 * refused. Only the bundle's removal lifts the policy.
 *
 * <p><b>Threads.</b> Called on the worker's poller, or, for an inner message, on the thread of the handler that
 * dispatches it; one call at a time. It must return within microseconds and must not wait.
 */
@ConsumerType
@FunctionalInterface
public interface AccessPolicy {

    /** Max duration of a decision, in milliseconds. */
    int MAX_MILLIS = 100;

    /** Decides about one request. */
    Decision decide(AccessRequest request);

    /**
     * Returns whether the policy decides about control calls, too, such as {@code bundle.uninstall}, which is the
     * {@linkplain AccessRequest#operation operation}. Called once, when the policy is installed; false by default.
     *
     * <p>Such a policy can lock its operators out, who then remove its jar from the watched directory or, while the
     * node is stopped, from {@code osgi/installed}. While it is away, control calls do not wait for it and are decided
     * by the others, so that a command can start its bundle again.
     */
    default boolean decidesControlCalls() {
        return false;
    }
}
