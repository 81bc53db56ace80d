package io.waybill.osgi;

import java.util.Optional;

/**
 * What an operator sees of a bundle.
 *
 * @param sinceWallNs when it came to this state
 * @param sha256 of the jar that runs, in hexadecimal
 * @param source the file it was last taken from
 * @param problem what went wrong last, when something did
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
        /** May be installed, updated and removed. */
        HANDLER
    }

    /** How far it got. */
    public enum State {
        ACTIVE,
        STOPPED,
        /** It did not come back from its start or stop, and was given up. It stays until the node ends. */
        STUCK
    }
}
