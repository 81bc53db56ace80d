package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Request;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.host.Clock;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.RecordSender;
import io.waybill.worker.publish.Repetition;
import io.waybill.worker.reference.SentReferences;

/**
 * Writes requests: prepares their tensors and references, waits for room, claims an id and a slot in the table of calls
 * in flight, and has the request published. The preparation of a request that is not published is undone.
 *
 * <p><b>Threads.</b> Any.
 */
public final class RequestWriter {

    /** Value in place of an id: the peer has left, and the call is sent to its successor. */
    private static final long PEER_LEFT = Long.MIN_VALUE;

    private final CallingContext context;
    private final Clock clock;
    private final PendingCalls pending;
    private final QueueAppender appender;
    private final RecordSender injection;
    private final LinkLookup lookup;
    private final Backpressure backpressure;
    private final long spanSalt;
    private final ThreadLocal<OutgoingRequest> own; // one for each thread that sends
    // Written by the thread that closes the worker, read by threads that send:
    private volatile boolean closed; // set under the lock of the appender
    private volatile String failure = ""; // why the journal accepts no records, set before that; empty while it does

    /** @param injection sender that injects faults before the journal; null for none */
    public RequestWriter(CallingContext context, QueueAppender appender, RecordSender injection, LinkLookup lookup) {
        this.context = context;
        this.clock = context.publishing().clock();
        this.pending = context.pending();
        this.appender = appender;
        this.injection = injection;
        this.lookup = lookup;
        this.backpressure =
                new Backpressure(context.settings().limits().overflow(), context.waiting(), clock, context.counters());
        this.spanSalt = OutgoingRequest.spanSalt(clock.wallNs());
        this.own = context.waiting().threads().local();
    }

    /**
     * Writes a request and returns its id; the listener then gets one outcome.
     *
     * @param parentDeadlineNs on CLOCK_BOOTTIME; 0 for none
     * @param creation creates the reference to the value that the request creates; null when it creates none
     * @param callers the context that is current for the listener
     * @param onRecord the context that is on record with the request
     * @throws CallException when nothing was written; the listener is not called then
     */
    long write(
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation,
            CallContext callers,
            CallContext onRecord) {
        OutgoingRequest sent = OutgoingRequest.of(own, context, spanSalt);
        try {
            sent.call(request, listener, parent, creation);
            sent.contexts(callers, onRecord);
            sent.begin(clock.bootNs(), parentDeadlineNs);
            long id;
            do {
                id = send(sent);
            } while (id == PEER_LEFT);
            return id;
        } catch (FaultInjectingSender.InjectedFailure e) {
            listener.onFailure(e.outcome());
            return e.outcome().messageId();
        } catch (InternalError e) {
            throw CallErrors.unlessFault(e, request.to());
        } finally {
            sent.close();
        }
    }

    private long send(OutgoingRequest request) {
        request.attempt(lookup.require(request.request().to(), request.deadlineNs(), request.mayBeLeft()));
        long id;
        boolean published = false;
        try {
            request.attach(plan(request));
            id = appendWhenThereIsRoom(request);
            published = id >= 0;
        } finally {
            if (!published) {
                request.takeBack();
            }
        }
        if (!published) {
            return id == PEER_LEFT ? id : completedElsewhere(id);
        }
        appender.follow(request);
        return id;
    }

    /** Prepares the tensors, and waits while the peer has too many leases; null without tensors. */
    private Plan plan(OutgoingRequest sent) {
        Request request = sent.request();
        PeerLink link = sent.to();
        while (!request.tensors().isEmpty()) {
            try {
                return context.transit()
                        .sender()
                        .plan(request.tensors(), link.id(), link.devices().requests());
            } catch (CallException e) {
                if (e.code() != ErrorCode.BACK_PRESSURE || link.condition() != PeerLink.Condition.OPEN) {
                    throw e;
                }
                backpressure.await(e.getMessage(), sent.deadlineNs(), sent.timeoutNs());
            }
        }
        return null;
    }

    private long appendWhenThereIsRoom(OutgoingRequest request) {
        PeerLink link = request.to();
        for (boolean waited = false; ; waited = true) {
            appender.lock();
            try {
                if (request.isLeft()) {
                    return PEER_LEFT;
                }
                requireOpen(link);
                if (link.flow().hasRoom(request.length(), context.settings().limits())) {
                    PendingCalls.Slot slot = request.claim();
                    if (slot != null) {
                        return append(request, slot);
                    }
                }
            } finally {
                appender.unlock();
            }
            if (!waited) {
                backpressure.requireMayWait(link);
            }
            backpressure.await(link, request.deadlineNs(), request.timeoutNs());
        }
    }

    /**
     * Returns the id; {@link #completedElsewhere} of it when the request was not written, and another thread has
     * completed the call.
     */
    private long append(OutgoingRequest request, PendingCalls.Slot slot) {
        PeerLink link = request.to();
        try {
            if (link.isSwept()) { // after it was found open: no other thread will complete this call
                if (request.isLeft() && pending.takeBack(slot, request.id())) {
                    return PEER_LEFT;
                }
                throw refusal(link);
            }
            if (!appender.journal().isComfortable()) {
                appender.journal().topUp(); // throws when there is no room for new work
            }
            request.beforeWrite();
            appender.append(request, injection, request.wallNs());
            return request.id();
        } catch (JournalFullException | JournalFailedException e) {
            return notWritten(request, slot, CallErrors.notWritten(e));
        } catch (RuntimeException e) {
            return notWritten(request, slot, e);
        } catch (Error e) {
            return notWritten(request, slot, e);
        }
    }

    /**
     * Ends the call of a request that was not written: by the exception, unless another thread has completed the call,
     * and counted it.
     */
    private <E extends Throwable> long notWritten(OutgoingRequest request, PendingCalls.Slot slot, E e) throws E {
        if (pending.takeBack(slot, request.id())) {
            throw e;
        }
        request.to().flow().notWritten();
        request.counts().begun();
        return completedElsewhere(request.id());
    }

    /** Turns the id of a call that was completed before its request was written into a negative number, and back. */
    private static long completedElsewhere(long id) {
        return ~id;
    }

    /**
     * Sends a request again, under its id, to the current incarnation of its receiver. No caller in this process waits
     * for the response.
     */
    public void repeat(RecordView request, long deadlineNs) {
        PeerLink link = lookup.require(request.to(), deadlineNs);
        Repetition repetition = new Repetition(request, link, record -> again(record, link, deadlineNs), bytes -> {
            context.counters().countSent();
            link.flow().sent(bytes);
            link.flow().completed(bytes);
        });
        appender.lock();
        try {
            requireOpen(link);
            if (!appender.journal().isComfortable()) {
                appender.journal().topUp();
            }
            appender.append(repetition, null, clock.wallNs());
        } catch (JournalFullException | JournalFailedException e) {
            throw CallErrors.notWritten(e);
        } finally {
            appender.unlock();
        }
        appender.follow(repetition);
    }

    private void again(MessageBuffer record, PeerLink link, long deadlineNs) {
        record.deadlineNs(deadlineNs)
                .dueNs(deadlineNs == 0 ? 0 : clock.wallNsAt(deadlineNs))
                .sentNs(clock.wallNs())
                .epoch(link.epoch());
    }

    private void requireOpen(PeerLink link) {
        requireOpen();
        if (link.condition() != PeerLink.Condition.OPEN) {
            throw refusal(link);
        }
    }

    /** Creates the error of a call over a link that is not open. */
    private static CallException refusal(PeerLink link) {
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

    /** Fails all later calls with this text, because the journal accepts no more records. */
    public void fail(String why) {
        failure = why;
        close();
    }

    /** Creates the error of a call that was in flight when the worker closed. */
    public CallException ended(long id, String workerName) {
        return failure.isEmpty()
                ? new CallException(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.CLOSED,
                        id,
                        "worker " + workerName + " was closed before the response came")
                : new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.JOURNAL_FAILED, id, failure);
    }

    /** Rejects further calls; the poller completes the calls without an outcome. */
    public void close() {
        appender.lock();
        try {
            closed = true;
        } finally {
            appender.unlock();
        }
    }

    /** Discards the requests that the injection of faults has kept. After {@link #close}. */
    public void discardKept() {
        if (injection != null) {
            injection.close();
        }
    }
}
