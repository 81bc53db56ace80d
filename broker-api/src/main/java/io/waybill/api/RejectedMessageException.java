package io.waybill.api;

import java.util.Objects;

/** Rejection of a message by its handler. The caller receives the code and the text; the worker continues. */
public class RejectedMessageException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;

    public RejectedMessageException(ErrorCode code, String text) {
        super(text);
        this.code = Objects.requireNonNull(code);
    }

    public RejectedMessageException(ErrorCode code, String text, Throwable cause) {
        super(text, cause);
        this.code = Objects.requireNonNull(code);
    }

    public ErrorCode code() {
        return code;
    }
}
