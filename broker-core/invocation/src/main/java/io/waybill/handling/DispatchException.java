package io.waybill.handling;

import io.waybill.api.CallException;

/** Failure of a message that was inside another one. An outer handler that does not catch it fails in the same way. */
public final class DispatchException extends CallException {
    private static final long serialVersionUID = 1L;

    private final transient Failure failure;

    /**
     * Creates the failure of a message inside the one with this id.
     */
    public DispatchException(Failure failure, long id) {
        super(
                failure.kind(),
                failure.code(),
                id,
                failure.text(),
                failure.root().isThere() ? failure.root().code() : failure.code(),
                failure.root().isThere() ? failure.root().id() : id);
        this.failure = failure;
    }

    Failure failure() {
        return failure;
    }
}
