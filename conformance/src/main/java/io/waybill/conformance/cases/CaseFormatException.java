package io.waybill.conformance.cases;

/** A case file violates the format; the message names the place, what was expected and what was found. */
public final class CaseFormatException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    public CaseFormatException(String message) {
        super(message);
    }

    public CaseFormatException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns a copy with the location as prefix. */
    CaseFormatException at(String location) {
        return new CaseFormatException(location + ": " + getMessage(), this);
    }
}
