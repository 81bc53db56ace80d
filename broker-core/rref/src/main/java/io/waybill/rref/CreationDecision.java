package io.waybill.rref;

/** Decision about a request to create a value. */
public enum CreationDecision {
    /** Run the body of the request, then call {@link Creations#finish} or {@link Creations#finishFailed}. */
    RUN,
    /** The request runs or has run: respond when {@link References#whenCompleted} reports it. */
    KNOWN,
    /** The creator has abandoned the value, or has ended: run nothing, and respond with {@code REFERENCE_DELETED}. */
    DELETED
}
