package io.waybill.wire;

/** Thrown when a record can't be what its sender wrote. The text names offsets and lengths, never content. */
public final class MalformedRecordException extends Exception {
    private static final long serialVersionUID = 1L;

    public MalformedRecordException(String text) {
        super(text);
    }
}
