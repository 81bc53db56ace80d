package io.waybill.api.policy;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Policy that decides which bundles a node installs. Published as a service by a bundle.
 *
 * <p>Called for each jar that a command or the watched directory brings, also for an update of its own bundle, after
 * the jar was checked and before anything has changed. With several policies, each must allow the jar. Not called for
 * the node's own bundles, nor for jars that a command installed before, when the node starts.
 *
 * <p>A policy that throws, returns null or does not return within the limit for starts ({@code osgi.start-limit})
 * refuses the jar. While the bundle of an installed policy is stopped, or did not start with the node, every jar is
 * refused. Only the bundle's removal lifts the policy.
 *
 * <p><b>Threads.</b> Called on a thread of its own, one call at a time, while other operations on bundles wait. It may
 * read the jar.
 */
@ConsumerType
@FunctionalInterface
public interface BundlePolicy {

    /** Decides about one jar. */
    Decision decide(BundleCandidate candidate);
}
