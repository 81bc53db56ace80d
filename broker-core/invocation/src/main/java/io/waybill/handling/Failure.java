package io.waybill.handling;

import io.waybill.api.CallException;
import io.waybill.api.CallException.Begun;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.host.Clock;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.wire.RecordView;

/**
 * Error that responds to a request whose handler gave no response. Immutable.
 *
 * @param root failed call that caused it
 */
public record Failure(ErrorKind kind, ErrorCode code, String text, Root root) {

    /**
     * Failed call that caused an error, made by the handler of a request, or by one further inside. Immutable.
     *
     * @param code null when no call caused it
     * @param id of its request; {@link MessageId#NONE} when it was not sent
     */
    public record Root(ErrorCode code, long id) {

        /** Root of an error that no call caused. */
        public static final Root NONE = new Root(null, MessageId.NONE);

        private static final int MAX_CAUSES = 32; // causes may form a ring

        /** Finds the failed call among an exception of a handler and its causes. Does not throw. */
        public static Root of(Throwable thrown) {
            try {
                Throwable e = thrown;
                for (int i = 0; e != null && i < MAX_CAUSES; i++) {
                    if (e instanceof CallException failed) {
                        return new Root(failed.rootCode(), failed.rootMessageId());
                    }
                    e = e.getCause();
                }
            } catch (Throwable inException) { // of a bundle, with code of its own
                return NONE;
            }
            return NONE;
        }

        /** Returns the root that a response records. */
        public static Root of(RecordView response) {
            return response.hasRoot() ? new Root(response.rootCode(), response.rootId()) : NONE;
        }

        public boolean isThere() {
            return code != null;
        }
    }

    /** Timeout of a caller that used the clock of an earlier boot. */
    private static final long UNKNOWN_TIMEOUT = Long.MIN_VALUE;

    /** Max length of the text; a longer one is truncated. */
    public static final int MAX_TEXT_BYTES = 64 << 10;

    /** Replaces missing parts that a bundle passed: the code by {@link ErrorCode#UNKNOWN}, the text by a remark. */
    public Failure {
        code = code == null ? ErrorCode.UNKNOWN : code;
        text = text == null ? "no text was given" : text;
    }

    /** Creates a failure that no failed call caused. */
    public Failure(ErrorKind kind, ErrorCode code, String text) {
        this(kind, code, text, Root.NONE);
    }

    private Failure causedBy(Throwable e) {
        Root found = Root.of(e);
        boolean isThis = found.code() == code && found.id() == MessageId.NONE; // passed on, and not caused by it
        return isThis ? this : new Failure(kind, code, text, found);
    }

    /** Creates the failure of a request that the handler rejected. */
    public static Failure rejected(int worker, RejectedMessageException e) {
        // a rejection in the handler's own words travels as it is; the rest is the broker's and names the node
        ErrorCode code;
        String text;
        try {
            code = e.code();
            text = String.valueOf(e.getMessage());
        } catch (Throwable inException) { // of a bundle, with code of its own
            return threw(worker, e);
        }
        return new Failure(ErrorKind.UNKNOWN_ERROR, code, code == ErrorCode.REFUSED ? text : nodeError(worker, text))
                .causedBy(e);
    }

    /**
     * Creates the failure of a handler that threw: the failure of a message that it dispatched, which is then its own,
     * or something else.
     */
    public static Failure threw(int worker, Throwable e) {
        if (e instanceof DispatchException inner) {
            return inner.failure();
        }
        return of(ErrorCode.HANDLER_FAILED, worker, ForeignErrors.describe(e)).causedBy(e);
    }

    /** Creates the failure of a handler that returned, and gave no response. */
    public static Failure noResponse(int worker, HandlerEntry entry) {
        return of(
                ErrorCode.NO_RESPONSE,
                worker,
                entry.provider() + " returned without a response to "
                        + entry.key().text());
    }

    /**
     * Creates the failure of a request for a key that never had a known handler. The text names the most similar key.
     */
    public static Failure unknown(int worker, HandlerKey key, HandlerTable table) {
        return key instanceof HandlerKey.OfType
                ? of(
                        ErrorCode.UNKNOWN_TYPE,
                        worker,
                        "Request type " + key.text() + " not supported: no handler for it here")
                : of(
                        ErrorCode.UNKNOWN_OPERATION,
                        worker,
                        "no handler for the operation " + key.text() + " here"
                                + table.mostSimilar(key)
                                        .map(similar -> "; the most similar one is " + similar)
                                        .orElse(""));
    }

    /**
     * Creates the failure of a message that is nested too deeply.
     *
     * @param path types of the nested messages
     */
    public static Failure tooDeep(int worker, String path) {
        String text = "a message has at most " + Outbox.MAX_DEPTH + " messages inside each other, and this one more: ";
        return of(ErrorCode.REFUSED, worker, text + path);
    }

    /** Creates the failure of a request whose handler has too many stuck calls. */
    public static Failure outOfService(int worker, HandlerEntry entry) {
        String text = entry.provider() + " is out of service for " + entry.key().text()
                + ", because earlier requests are stuck in it; update its bundle or restart it";
        return of(ErrorCode.HANDLER_STUCK, worker, text);
    }

    /** Creates the failure of a request that waited for its handler for the max time of parking. */
    public static Failure parkedTooLong(int worker, HandlerKey key, long maxNs) {
        return away(worker, key, "left", "none came within " + maxNs / 1_000_000 + " ms");
    }

    /**
     * Creates the failure of a message inside a request that waited for its handler, or for a thread of it, for the max
     * time of parking.
     */
    public static Failure waitedTooLong(int worker, HandlerKey key, long maxNs) {
        return away(worker, key, "left, or is busy", "there was none within " + maxNs / 1_000_000 + " ms");
    }

    /**
     * Creates the failure of a request that would wait for its handler when the max number of requests is parked
     * already.
     */
    public static Failure tooManyParked(int worker, HandlerKey key, int parked) {
        String text = parked + " requests, the most allowed, wait for handlers already";
        return away(worker, key, "left, or is busy", text);
    }

    private static Failure away(int worker, HandlerKey key, String how, String text) {
        String which = "the handler for " + key.text() + " or an interceptor of it ";
        return of(ErrorCode.HANDLER_GONE, worker, which + how + ", and " + text);
    }

    /**
     * Creates the failure of a request that the threads of a handler did not accept, although the handler had counted
     * it.
     */
    public static Failure notTaken(int worker, ExecutorRefusedException e) {
        boolean isGone = e.reason() == ExecutorRefusedException.Reason.CLOSED;
        return of(isGone ? ErrorCode.HANDLER_GONE : ErrorCode.BACK_PRESSURE, worker, e.getMessage());
    }

    /** Creates the failure of a late response that was sent empty. */
    public static Failure emptyLateResponse(int worker) {
        return of(ErrorCode.NO_RESPONSE, worker, "a late response was sent without a body");
    }

    /**
     * Creates the failure of a late response that was an error; its kind is the one that its text begins with, as in
     * PyTorch.
     */
    public static Failure late(ErrorCode code, String text) {
        ErrorKind kind = text == null ? ErrorKind.UNKNOWN_ERROR : ErrorKind.decode(text);
        return new Failure(kind, code, text);
    }

    /** Creates the failure of a late response that was an error, which a failed call may have caused. */
    public static Failure late(ErrorCode code, String text, Throwable cause) {
        return late(code, text).causedBy(cause);
    }

    /**
     * Creates the failure of a call that took longer than its caller allowed. Callers match on the text, which is
     * PyTorch's up to {@code detail}.
     *
     * @param detail the call, and the step that had not happened
     */
    public static Failure timedOut(long timeoutNs, String detail) {
        String limit = timeoutNs == UNKNOWN_TIMEOUT ? "" : " (" + milliseconds(timeoutNs) + " ms)";
        String text = "RPC ran for more than set timeout" + limit + " and will now be marked with an error: " + detail;
        return new Failure(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, ErrorKind.TIMEOUT.encode(text));
    }

    /**
     * Creates the failure of a request whose deadline had passed at its callee.
     *
     * @param before the step that had not happened yet
     */
    public static Failure expired(RecordView request, Clock clock, String before) {
        return expired(request, InboundMessage.timeoutNs(request.sentNs(), request.deadlineNs(), clock), before);
    }

    /** Creates the failure of a request whose deadline was by the clock of an earlier boot. */
    public static Failure expiredAtBoot(RecordView request) {
        return expired(request, UNKNOWN_TIMEOUT, "a handler began");
    }

    private static Failure expired(RecordView request, long timeoutNs, String before) {
        return timedOut(
                timeoutNs, "the deadline of call " + MessageId.text(request.id()) + " had passed before " + before);
    }

    /** Returns whole milliseconds as PyTorch writes them; a fraction when there is one. */
    public static String milliseconds(long ns) {
        return ns % 1_000_000 == 0 ? Long.toString(ns / 1_000_000) : Double.toString(ns / 1e6);
    }

    /** Converts to the exception that the caller gets. */
    public CallException toException(long id) {
        return root.isThere()
                ? new CallException(kind, code, id, text, root.code(), root.id())
                : new CallException(kind, code, id, text);
    }

    /** Returns the exception that the caller gets for an error response. */
    public static CallException exceptionOf(RecordView response) {
        Begun begun = response.handlerSequence() != 0 ? Begun.YES : Begun.NO;
        return of(response).toException(response.id()).begun(response.isAcrossIncarnations() ? Begun.UNKNOWN : begun);
    }

    /** Returns the failure that an error response records. */
    public static Failure of(RecordView response) {
        return new Failure(response.errorKind(), response.errorCode(), ErrorText.of(response), Root.of(response));
    }

    /** Returns a failure with PyTorch's prefix for errors that are not a handler's own. */
    public static Failure of(ErrorCode code, int worker, String text) {
        return new Failure(ErrorKind.UNKNOWN_ERROR, code, nodeError(worker, text));
    }

    /**
     * Returns a text with PyTorch's prefix for errors that come from the broker or from decoding, and not from a
     * handler's own words.
     */
    public static String nodeError(int worker, String text) {
        return "Error on Node " + worker + ": " + text;
    }

    /** Creates the exception for a non-blocking handler that tries to wait for another worker. */
    public static IllegalStateException mustNotWait() {
        return new IllegalStateException("a non-blocking handler or a listener must not wait for another worker:"
                + " use callAsync, or declare the handler without @NonBlocking");
    }
}
