package io.waybill.osgi.jar;

import java.util.Objects;

/**
 * Signals that an operation on a bundle was rejected or failed; the previous bundle still runs, unless the text states
 * otherwise. The text is for operators: one or two sentences that name the problem.
 */
public final class BundleRefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Kind of the problem. */
    public enum Reason {
        /** The file can't be read, or may be changed by others. */
        UNREADABLE,
        /** The node's disk has no room for a copy. Temporary. */
        NO_ROOM,
        /** The file is no bundle. */
        NO_BUNDLE,
        /** A requirement of the bundle is not available. */
        UNRESOLVED,
        /** The bundle threw on start, or a component of it is not satisfied or threw. */
        START_FAILED,
        /** The bundle did not return from its start or stop in time. */
        HUNG,
        /** A bundle policy refused it. */
        NOT_ALLOWED,
        /** A bundle policy is away that must allow it. Temporary. */
        POLICY_AWAY,
        /** No bundle with the name is installed. */
        UNKNOWN_BUNDLE,
        /** The bundle is one of the system's. */
        SYSTEM_BUNDLE,
        /** The framework failed in another way, or is closing. */
        FAILED
    }

    private final Reason reason;

    public BundleRefusedException(Reason reason, String text) {
        super(text);
        this.reason = Objects.requireNonNull(reason);
    }

    public BundleRefusedException(Reason reason, String text, Throwable cause) {
        super(text, cause);
        this.reason = Objects.requireNonNull(reason);
    }

    public Reason reason() {
        return reason;
    }
}
