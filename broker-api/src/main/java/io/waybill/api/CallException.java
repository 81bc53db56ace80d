package io.waybill.api;

import java.util.Objects;

/**
 * Failure of a call: an error response, a timeout, or a rejection before anything was sent.
 *
 * <p>{@link #getMessage()} is the text as it was sent; the text of a timeout starts with {@code RPCErr:1:}, as in
 * PyTorch.
 *
 * <p>A handler that does not catch the failure of its own call fails with {@link ErrorCode#HANDLER_FAILED}, or with the
 * code of its refusal. Its caller finds the call that failed first, however many handlers are in between, in
 * {@link #rootCode()} and {@link #rootMessageId()}.
 */
public class CallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorKind kind;
    private final ErrorCode code;
    private final long messageId;
    private final ErrorCode rootCode;
    private final long rootMessageId;
    private Begun begun; // set by its creator

    /** State of a request: whether code of the called worker's bundles, a handler or its interceptor, ran for it. */
    public enum Begun {
        /** None ran, and none will: the call may be repeated by any means. */
        NO,
        /** Some ran, or runs: its effects may be there. */
        YES,
        /** Some may have run, or may still run: no response came, or the called worker ended meanwhile. */
        UNKNOWN
    }

    /**
     * Creates the failure of one call.
     *
     * @param messageId the request's id, {@link MessageId#NONE} if nothing was sent
     */
    public CallException(ErrorKind kind, ErrorCode code, long messageId, String text) {
        this(kind, code, messageId, text, code, messageId);
    }

    /** Creates the failure of one call. If its cause is the failure of another call, that call is the root. */
    public CallException(ErrorKind kind, ErrorCode code, long messageId, String text, Throwable cause) {
        super(text, cause);
        this.kind = Objects.requireNonNull(kind);
        this.code = Objects.requireNonNull(code);
        this.messageId = messageId;
        this.rootCode = cause instanceof CallException failed ? failed.rootCode : code;
        this.rootMessageId = cause instanceof CallException failed ? failed.rootMessageId : messageId;
        this.begun = unlessSent(messageId);
    }

    private static Begun unlessSent(long messageId) {
        return messageId == MessageId.NONE ? Begun.NO : Begun.UNKNOWN;
    }

    /**
     * Creates the failure of one call that another one caused.
     *
     * @param rootCode code of the call that failed first
     * @param rootMessageId id of that call's request, {@link MessageId#NONE} if it was not sent
     */
    public CallException(
            ErrorKind kind, ErrorCode code, long messageId, String text, ErrorCode rootCode, long rootMessageId) {
        super(text);
        this.begun = unlessSent(messageId);
        this.kind = Objects.requireNonNull(kind);
        this.code = Objects.requireNonNull(code);
        this.messageId = messageId;
        this.rootCode = Objects.requireNonNull(rootCode);
        this.rootMessageId = rootMessageId;
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

    /**
     * Returns whether a handler ran for the request: {@link Begun#NO} for a call of which nothing was sent, and otherwise
     * what its creator has set, or {@link Begun#UNKNOWN}.
     */
    public Begun begun() {
        return begun;
    }

    /** Sets whether a handler ran for the request, and returns this. By its creator, before it is thrown. */
    public CallException begun(Begun state) {
        begun = Objects.requireNonNull(state);
        return this;
    }

    /**
     * Returns the code of the call that failed first: a call that this call's handler made, or one further inside.
     * Equals {@link #code()} if this call failed by itself.
     */
    public ErrorCode rootCode() {
        return rootCode;
    }

    /**
     * Returns the id of the call that failed first, as {@code waybill journal show} takes it; {@link MessageId#NONE} if
     * that call was not sent. Equals {@link #messageId()} if this call failed by itself.
     */
    public long rootMessageId() {
        return rootMessageId;
    }
}
