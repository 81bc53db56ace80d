package io.waybill.api.admin;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Status of a bundle of a node. Immutable.
 *
 * @param name symbolic name
 * @param since time at which it entered this state, if it is known
 * @param sha256 hash of the running jar, in hexadecimal; empty for a system bundle
 * @param source file that it was last installed from
 * @param problem last problem, if any
 * @param share requests that it gets, as a canary; empty for a bundle that gets all
 * @param done requests that its present handlers ended without an error
 * @param failed requests that its present handlers ended with an error
 * @param stuck requests and commands of it that are long overdue
 * @param failures exceptions that its services threw
 * @param policy state of its access policies, if it has any
 * @param replaced version that the operation replaced by another jar; empty in a list
 * @param stopped other bundles that wait since the operation, which took what they need; empty in a list
 */
public record BundleInfo(
        String name,
        String version,
        Kind kind,
        State state,
        Optional<Instant> since,
        String sha256,
        String source,
        Optional<String> problem,
        Optional<String> share,
        long done,
        long failed,
        long stuck,
        long failures,
        Optional<Policy> policy,
        Optional<String> replaced,
        List<String> stopped) {

    public BundleInfo {
        stopped = List.copyOf(stopped);
    }

    /** Owner of a bundle: the node or the operator. */
    public enum Kind {
        /** Part of the node; never changed. */
        SYSTEM,
        /** Handler bundle: may be installed, updated and removed. */
        HANDLER
    }

    /** State of a bundle. */
    public enum State {
        ACTIVE,
        /** The bundle lacks a package, a service or a configuration, and becomes active as soon as it is available. */
        WAITING,
        /** The bundle is the next version of another one, and gets a share of its requests. */
        CANARY,
        STOPPED,
        /** The bundle did not return from its start or stop, and was abandoned. It stays until the node exits. */
        STUCK
    }

    /** State of a bundle's access policies and bundle policies. */
    public enum Policy {
        /** The policies are asked about each request, or jar. */
        ASKED,
        /** A policy is away: requests wait for it, or jars are refused. */
        AWAY
    }
}
