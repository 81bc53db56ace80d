package io.waybill.api;

import java.util.Objects;

/**
 * Failure of a call: an error response, a timeout, or a rejection before anything was sent.
 *
 * <p>{@link #getMessage()} is the text as it was sent; the text of a timeout starts with {@code RPCErr:1:}, as in
 * PyTorch.
 */
public class CallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorKind kind;
    private final ErrorCode code;
    private final long messageId;

    /**
     * Creates the failure of one call.
     *
     * @param messageId the request's id, {@link MessageId#NONE} when nothing was sent
     */
    public CallException(ErrorKind kind, ErrorCode code, long messageId, String text) {
        super(text);
        this.kind = Objects.requireNonNull(kind);
        this.code = Objects.requireNonNull(code);
        this.messageId = messageId;
    }

    public CallException(ErrorKind kind, ErrorCode code, long messageId, String text, Throwable cause) {
        super(text, cause);
        this.kind = Objects.requireNonNull(kind);
        this.code = Objects.requireNonNull(code);
        this.messageId = messageId;
    }

    public ErrorKind kind() {
        return kind;
    }

    public ErrorCode code() {
        return code;
    }

    /** Returns the request's id, {@link MessageId#NONE} when nothing was sent. */
    public long messageId() {
        return messageId;
    }
}
