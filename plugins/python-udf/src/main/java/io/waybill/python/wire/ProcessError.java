package io.waybill.python.wire;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;

/**
 * Error in the form of a frame.
 *
 * @param code number of an {@link ErrorCode}
 * @param kind code of an {@link ErrorKind}
 * @param rootCode number of the code of the call whose failure caused it; 0: no call did
 * @param rootId id of that call; {@link MessageId#NONE} if it was not sent
 */
public record ProcessError(int code, int kind, String text, int rootCode, long rootId) {

    static final int MAX_TEXT = 1 << 16;
    /** Beginning of the text of a timeout, as PyTorch's programs expect it. */
    public static final String TIMED_OUT = "RPC ran for more than set timeout: ";

    public ProcessError(ErrorCode code, String text) {
        this(code.number(), ErrorKind.UNKNOWN_ERROR.code(), text);
    }

    private ProcessError(int code, int kind, String text) {
        this(code, kind, text, 0, MessageId.NONE);
    }

    /** Creates the error for an exception. */
    public static ProcessError of(Throwable thrown) {
        Throwable cause =
                thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
        if (cause instanceof CallException failed) {
            return new ProcessError(
                    failed.code().number(),
                    failed.kind().code(),
                    String.valueOf(failed.getMessage()),
                    failed.rootCode().number(),
                    failed.rootMessageId());
        }
        if (cause instanceof RejectedMessageException rejected) {
            return new ProcessError(rejected.code(), String.valueOf(rejected.getMessage()));
        }
        if (cause instanceof TimeoutException) {
            return new ProcessError(
                    ErrorCode.TIMED_OUT.number(), ErrorKind.TIMEOUT.code(), TIMED_OUT + "the reference was not ready");
        }
        if (cause instanceof CancellationException || cause instanceof IllegalStateException) {
            return new ProcessError(ErrorCode.CLOSED, String.valueOf(cause.getMessage()));
        }
        if (cause instanceof IllegalArgumentException) {
            return new ProcessError(ErrorCode.REFUSED, String.valueOf(cause.getMessage()));
        }
        return new ProcessError(ErrorCode.UNKNOWN, cause.toString());
    }

    /** Returns this error as the rejection of the request that the process was serving. */
    public RejectedMessageException toRejection() {
        return rootCode == 0
                ? new RejectedMessageException(ErrorCode.of(code), text)
                : new RejectedMessageException(
                        ErrorCode.of(code),
                        text,
                        new CallException(ErrorKind.of(kind), ErrorCode.of(rootCode), rootId, text));
    }
}
