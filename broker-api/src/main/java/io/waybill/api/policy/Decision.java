package io.waybill.api.policy;

import java.util.Objects;

/** Decision of an {@link AccessPolicy} about one request. Immutable. */
public final class Decision {

    private static final Decision ALLOW = new Decision(true, "");

    private final boolean allowed;
    private final String reason;

    private Decision(boolean allowed, String reason) {
        this.allowed = allowed;
        this.reason = reason;
    }

    /** Returns the decision to serve the request. */
    public static Decision allow() {
        return ALLOW;
    }

    /**
     * Returns a decision to refuse the request.
     *
     * @param reason part of the error's text, for the caller
     */
    public static Decision deny(String reason) {
        return new Decision(false, Objects.requireNonNull(reason));
    }

    public boolean isAllowed() {
        return allowed;
    }

    /** Returns the reason for the refusal; empty if the request is allowed. */
    public String reason() {
        return reason;
    }
}
