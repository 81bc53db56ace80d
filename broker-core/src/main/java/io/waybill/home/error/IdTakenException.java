package io.waybill.home.error;

/** The id asked for belongs to another name, or the name has another id; neither ever changes in a home. */
public final class IdTakenException extends HomeException {
    private static final long serialVersionUID = 1L;

    public IdTakenException(String message) {
        super(message);
    }
}
