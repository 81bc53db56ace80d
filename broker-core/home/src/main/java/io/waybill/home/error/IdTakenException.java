package io.waybill.home.error;

/** Thrown when the wanted id belongs to another name, or the name has another id; both are permanent in a home. */
public final class IdTakenException extends HomeException {
    private static final long serialVersionUID = 1L;

    public IdTakenException(String message) {
        super(message);
    }
}
