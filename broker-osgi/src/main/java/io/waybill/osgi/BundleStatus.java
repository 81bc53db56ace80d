package io.waybill.osgi;

import java.util.Optional;

/**
 * Status of a bundle, for operators.
 *
 * @param sinceWallNs when it entered this state
 * @param sha256 of the running jar, in hexadecimal
 * @param source the file it was last installed from
 * @param problem the last problem, if any
 */
public record BundleStatus(
        String symbolicName,
        String version,
        Kind kind,
        State state,
        long sinceWallNs,
        String sha256,
        String source,
        Optional<String> problem) {

    /** Whose it is. */
    public enum Kind {
        /** Part of the node; stays as it is. */
        SYSTEM,
        /** Handler bundle: may be installed, updated and removed. */
        HANDLER
    }

    /** State of a bundle. */
    public enum State {
        ACTIVE,
        /** The bundle lacks a package, a service or a configuration, and is active as soon as that is there. */
        WAITING,
        STOPPED,
        /** The bundle did not return from its start or stop, and was abandoned. It stays until the node ends. */
        STUCK
    }
}
