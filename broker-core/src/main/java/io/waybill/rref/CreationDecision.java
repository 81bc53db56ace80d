package io.waybill.rref;

/** What is to be done with a request to create a value. */
public enum CreationDecision {
    /** Run its body, then call {@link Creations#finish} or {@link Creations#finishFailed}. */
    RUN,
    /** It runs or has run: answer when {@link References#whenCompleted} says so. */
    KNOWN,
    /** Its creator has given it up, or is dead: run nothing, and answer with {@code REFERENCE_DELETED}. */
    DELETED
}
