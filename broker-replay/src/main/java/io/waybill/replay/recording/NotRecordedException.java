package io.waybill.replay.recording;

/** Signals that the recording lacks data that a replay needs. The message names the data and the reason. */
public final class NotRecordedException extends Exception {

    private static final long serialVersionUID = 1L;

    public NotRecordedException(String message) {
        super(message);
    }
}
