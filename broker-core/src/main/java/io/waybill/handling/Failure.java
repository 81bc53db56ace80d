package io.waybill.handling;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;

/** The error that answers a request whose handler gave no answer. Immutable. */
public record Failure(ErrorKind kind, ErrorCode code, String text) {

    /** What is longer is cut. */
    public static final int MOST_TEXT_BYTES = 64 << 10;

    /** The handler refused the request. */
    public static Failure rejected(int worker, RejectedMessageException e) {
        // what a handler refuses in its own words travels as it is; the rest is the broker's and names the node
        String text = String.valueOf(e.getMessage());
        return new Failure(
                ErrorKind.UNKNOWN_ERROR, e.code(), e.code() == ErrorCode.REFUSED ? text : nodeError(worker, text));
    }

    /** The handler threw. */
    public static Failure threw(int worker, Throwable e) {
        return of(ErrorCode.HANDLER_FAILED, worker, describe(e));
    }

    /** The handler returned, and gave no answer. */
    public static Failure noAnswer(int worker, HandlerEntry entry) {
        return of(ErrorCode.NO_ANSWER, worker, entry.provider() + " returned without an answer to " + entry.key());
    }

    /** A late answer was sent, and there was none in it. */
    public static Failure emptyLateAnswer(int worker) {
        return of(ErrorCode.NO_ANSWER, worker, "a late answer was sent without a body");
    }

    /** A late answer was an error. */
    public static Failure late(ErrorCode code, String text) {
        return new Failure(ErrorKind.UNKNOWN_ERROR, code, text);
    }

    private static Failure of(ErrorCode code, int worker, String text) {
        return new Failure(ErrorKind.UNKNOWN_ERROR, code, nodeError(worker, text));
    }

    /** PyTorch's prefix for errors that come from the broker or from decoding, and not from a handler's own words. */
    public static String nodeError(int worker, String text) {
        return "Error on Node " + worker + ": " + text;
    }

    /** What a non-blocking handler is told that waits for another worker. */
    public static IllegalStateException mustNotWait() {
        return new IllegalStateException("a non-blocking handler or a listener must not wait for another worker:"
                + " use callAsync, or declare the handler without @NonBlocking");
    }

    private static String describe(Throwable e) {
        try {
            return e.toString();
        } catch (Throwable inMessage) { // an exception of a bundle, with code of its own
            return e.getClass().getName();
        }
    }
}
