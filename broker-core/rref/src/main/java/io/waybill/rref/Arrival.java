package io.waybill.rref;

import io.waybill.api.CallException;
import java.util.List;
import java.util.Optional;

/**
 * References of one request or response that arrived. A request's handler must not start before {@link Forks#whenReady}
 * reports it: until then their owners may not know of them, and their parents keep them alive. A reader of a response
 * need not wait.
 *
 * <p><b>Ownership.</b> Holds one handle of each reference, which {@link Forks#release(Arrival)} releases.
 */
public final class Arrival {
    private final List<Reference> references;
    private int waitingFor;
    private boolean released;

    Arrival(List<Reference> references) {
        this.references = List.copyOf(references);
    }

    /** Returns the references in the order of the fork data. */
    public List<Reference> references() {
        return references;
    }

    // Guarded by the gate, like the other fields.

    boolean takeRelease() {
        boolean first = !released;
        released = true;
        return first;
    }

    void waitFor(int count) {
        waitingFor = count;
    }

    boolean oneLess() {
        return --waitingFor == 0;
    }

    Optional<CallException> failure() {
        for (Reference reference : references) {
            CallException failure = failure(reference);
            if (failure != null) {
                return Optional.of(failure);
            }
        }
        return Optional.empty();
    }

    /** Returns why a body that is given the reference can't use it; null when it can, or may wait. */
    static CallException failure(Reference reference) {
        return reference instanceof UserReference user ? user.failure : ((OwnerReference) reference).unusable;
    }
}
