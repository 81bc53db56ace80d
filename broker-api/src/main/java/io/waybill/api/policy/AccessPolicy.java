package io.waybill.api.policy;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Decides which requests a worker serves. A service of a bundle, or registered by a program.
 *
 * <p>Asked once for each request, before its handler is looked up; a request that a restarted worker runs again is asked about again. A message inside another one
 * is asked about when it is dispatched. With several policies, each must allow. Not asked about: the broker's control messages (kinds 0xf0–0xff, such as those that install and
 * remove bundles), the messages that keep remote references in step, and replays.
 *
 * <p>A policy that throws, returns null or does not return within {@value #MAX_MILLIS} ms refuses the request. While an installed policy is
 * away, because its bundle is updated or stopped, requests wait for it up to the parking limit, and are refused then. Only the bundle's
 * removal lifts the policy.
 *
 * <p><b>Threads.</b> Called on the worker's poller, and about a message that a handler dispatches from inside another one on that handler's
 * thread; one call at a time. It must return within microseconds and must not wait.
 */
@ConsumerType
@FunctionalInterface
public interface AccessPolicy {

    /** Time that a decision may take, in milliseconds. */
    int MAX_MILLIS = 100;

    /** Decides about one request. */
    Decision decide(AccessRequest request);
}
