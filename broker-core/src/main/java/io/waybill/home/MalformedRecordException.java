package io.waybill.home;

/** A file of the home does not read as what it must be: cut short, damaged, or of another format. */
public final class MalformedRecordException extends HomeException {
    private static final long serialVersionUID = 1L;

    MalformedRecordException(String message) {
        super(message);
    }

    MalformedRecordException(String message, Throwable cause) {
        super(message, cause);
    }
}
