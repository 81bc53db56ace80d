package io.waybill.worker.peer;

import io.waybill.api.CallException;
import io.waybill.api.CallException.Begun;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.handling.Failure;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.ReadProblem;
import io.waybill.host.failure.HostFailures;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalFullException;
import java.io.IOException;

/** Factory of the errors that a caller gets from its own worker. */
public final class CallErrors {

    private CallErrors() {}

    /** Creates the error of a call that was rejected before anything was sent. */
    public static CallException refused(ErrorCode code, String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text);
    }

    /** Creates the error of a call that the journal did not accept. */
    public static CallException notWritten(Exception why) {
        ErrorCode code = why instanceof JournalFullException ? ErrorCode.JOURNAL_FULL : ErrorCode.JOURNAL_FAILED;
        return refused(code, why.getMessage());
    }

    /** Creates the error for a home whose workers can't be listed. */
    public static CallException homeUnreadable(IOException e) {
        return refused(codeOf(e, ErrorCode.UNKNOWN_WORKER), "the home can't be read: " + HostFailures.describe(e));
    }

    /** Creates the error for a name or id without a worker. The text is PyTorch's. */
    static CallException unknownWorker(WorkerInfo own, String to) {
        return refused(
                ErrorCode.UNKNOWN_WORKER,
                "name:" + own.name() + ",rank:" + own.id() + " could not find destination "
                        + WorkerAddress.describe(to));
    }

    /** Creates the error for a worker that is neither starting nor ready. */
    static CallException notThere(Peer peer, String to) {
        return switch (peer.state()) {
            case LEFT ->
                refused(
                        ErrorCode.WORKER_LOST,
                        "worker " + to + " has left"
                                + (peer.succeededUntilNs() > 0 ? ", and has not joined again in time" : ""));
            case DEAD -> refused(ErrorCode.WORKER_LOST, "worker " + to + " is dead: its process is gone");
            default -> unreadable(to, peer.readProblem());
        };
    }

    /** Creates the error for a worker whose files can't be read. */
    static CallException unreadable(String to, ReadProblem problem) {
        return refused(codeOf(problem), "worker " + to + " can't be called: " + problem.text());
    }

    /** Creates the error for a link whose peer's files can't be read any more. */
    public static CallException unreadable(PeerLink link) {
        return refused(
                codeOf(link.problem()),
                "worker " + link + " can't be read: " + link.problem().text());
    }

    /** Returns the code for a failed read: {@code other} when it was not this process's own failure. */
    public static ErrorCode codeOf(Throwable e, ErrorCode other) {
        return HostFailures.is(e) ? ErrorCode.RESOURCE_UNAVAILABLE : other;
    }

    private static ErrorCode codeOf(ReadProblem problem) {
        return problem.isOwn() ? ErrorCode.RESOURCE_UNAVAILABLE : ErrorCode.PEER_CORRUPT;
    }

    /**
     * Creates the error for a fault on mapped memory that surfaced while a call was sent: most likely in the receiver's
     * files.
     *
     * @throws InternalError the given error, when it is not such a fault
     */
    public static CallException unlessFault(InternalError e, String to) {
        if (!MappedFaults.is(e)) {
            throw e;
        }
        return new CallException(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.PEER_CORRUPT,
                        MessageId.NONE,
                        "a fault in a mapped file came to light while a call to worker " + to
                                + " was sent, which may have been sent: expected its files to be whole; waybill journal verify says"
                                + " which are not",
                        e)
                .begun(Begun.UNKNOWN);
    }

    /** Creates the error of a timeout. The text is PyTorch's. */
    public static CallException timedOut(long id, long timeoutNs, String peer) {
        return Failure.timedOut(timeoutNs, "call " + MessageId.text(id) + " to " + peer)
                .toException(id);
    }

    public static CallException timedOutBeforeSending(long timeoutNs, String what) {
        return Failure.timedOut(timeoutNs, "nothing was sent, because " + what).toException(MessageId.NONE);
    }

    /** Creates the error of a call whose link ended before the response arrived. */
    public static CallException ended(long id, PeerLink link) {
        ErrorCode code =
                link.condition() == PeerLink.Condition.UNREADABLE ? codeOf(link.problem()) : ErrorCode.WORKER_LOST;
        return new CallException(
                ErrorKind.UNKNOWN_ERROR,
                code,
                id,
                "worker " + link + " " + why(link) + " before it responded to call " + MessageId.text(id));
    }

    /** Creates the error of a call whose peer did not return in time. */
    public static CallException notReturned(long id, PeerLink link, long limitNs) {
        return new CallException(
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.WORKER_LOST,
                id,
                "worker " + link + " " + why(link) + " before it responded to call " + MessageId.text(id)
                        + ", and did not return within " + Failure.milliseconds(limitNs) + " ms");
    }

    /**
     * Creates the error of a call that a worker had not begun when it left in order, and that no process of its name
     * continued.
     */
    public static CallException notSucceeded(long id, PeerLink link) {
        return new CallException(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.WORKER_LOST,
                        id,
                        "worker " + link + " left before it responded to call " + MessageId.text(id)
                                + ", and no process joined under its name in time to take it over")
                .begun(Begun.NO);
    }

    /** Creates the error of a call that waited for a worker that has left. */
    static CallException timedOutAway(Peer peer, long waitedNs) {
        return timedOutBeforeSending(waitedNs, "worker " + peer.name() + away(peer));
    }

    /** Returns the reason why a worker has no link that is waited for. */
    static String away(Peer peer) {
        return peer.state() == PeerState.LEFT ? " has left, and has not joined again yet" : " is still starting";
    }

    private static String why(PeerLink link) {
        switch (link.condition()) {
            case LEFT:
                return "left";
            case UNREADABLE:
                return "could not be read, " + link.problem().text() + ",";
            default:
                return "was lost: its process is gone,";
        }
    }
}
