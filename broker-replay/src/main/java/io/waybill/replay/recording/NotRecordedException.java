package io.waybill.replay.recording;

/** A replay needs what the recording does not have. The message says what, and why it is not there. */
public final class NotRecordedException extends Exception {

    private static final long serialVersionUID = 1L;

    public NotRecordedException(String message) {
        super(message);
    }
}
