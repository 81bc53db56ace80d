package io.waybill.replay.run;

/** A handler asked for something that is not on record. The message says what, and what is. */
final class UnmatchedCallException extends Exception {

    private static final long serialVersionUID = 1L;

    UnmatchedCallException(String message) {
        super(message);
    }
}
