package io.waybill.replay.recording;

/** Thrown when the recording lacks something that a replay needs. The message names it, and why it is missing. */
public final class NotRecordedException extends Exception {

    private static final long serialVersionUID = 1L;

    public NotRecordedException(String message) {
        super(message);
    }
}
