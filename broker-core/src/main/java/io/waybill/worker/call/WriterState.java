package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.PeerLink;

/**
 * Whether a worker still sends requests, and the errors of calls when it does not.
 *
 * <p><b>Threads.</b> Any. Ends under the lock of the requests' appender.
 */
final class WriterState {

    private volatile boolean closed;
    private volatile String failure = ""; // why the journal accepts no records; empty while it does

    /** Throws when the worker, or the link, is closed. */
    void requireOpen(PeerLink link) {
        requireOpen();
        if (link.condition() != PeerLink.Condition.OPEN) {
            throw refusal(link);
        }
    }

    /** Creates the error of a call over a link that is not open. */
    CallException refusal(PeerLink link) {
        return switch (link.condition()) {
            case OPEN -> throw new IllegalStateException("the link to " + link + " is open");
            case LOST -> CallErrors.refused(ErrorCode.WORKER_LOST, "worker " + link + " is dead: its process is gone");
            case UNREADABLE -> CallErrors.unreadable(link);
            case LEFT -> CallErrors.refused(ErrorCode.WORKER_LOST, "worker " + link + " has left");
        };
    }

    /** Throws when the worker is closed. */
    void requireOpen() {
        if (closed) {
            throw failure.isEmpty()
                    ? CallErrors.refused(ErrorCode.CLOSED, "this worker is closed")
                    : CallErrors.refused(ErrorCode.JOURNAL_FAILED, failure);
        }
    }

    /** Sets why the journal accepts no records, before {@link #close}. */
    void failed(String why) {
        failure = why;
    }

    void close() {
        closed = true;
    }

    /** Creates the error of a call that was in flight when the worker closed. */
    CallException ended(long id, String workerName) {
        return failure.isEmpty()
                ? new CallException(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.CLOSED,
                        id,
                        "worker " + workerName + " was closed before the response came")
                : new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.JOURNAL_FAILED, id, failure);
    }
}
