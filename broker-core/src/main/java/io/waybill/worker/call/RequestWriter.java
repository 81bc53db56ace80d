package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.handling.CallReports;
import io.waybill.handling.Route;
import io.waybill.host.Clock;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.tensor.Plan;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.reference.SentReferences;

/**
 * Writes requests: composes the record, waits for room, claims an id and a slot in the table of calls in flight, and
 * appends the record.
 *
 * <p><b>Threads.</b> Any.
 */
public final class RequestWriter {

    /** In place of an id: the peer has left, and the call is sent to its successor. */
    private static final long PEER_LEFT = Long.MIN_VALUE;

    private final int workerId;
    private final CallSettings settings;
    private final Clock clock;
    private final QueueAppender appender;
    private final PendingCalls pending;
    private final LinkLookup lookup;
    private final TensorTransit transit;
    private final Poller poller;
    private final Backpressure backpressure;
    private final WorkerCounters counters;
    private final RequestSender sender;
    private final CallReports reports;
    private final SpanIds spans;
    private final WriterState state = new WriterState();

    public RequestWriter(
            int workerId,
            CallSettings settings,
            Clock clock,
            QueueAppender appender,
            PendingCalls pending,
            LinkLookup lookup,
            TensorTransit transit,
            Poller poller,
            WaitingCallers waits,
            WorkerCounters counters,
            RequestSender sender,
            CallReports reports) {
        this.workerId = workerId;
        this.settings = settings;
        this.clock = clock;
        this.appender = appender;
        this.pending = pending;
        this.lookup = lookup;
        this.transit = transit;
        this.poller = poller;
        this.backpressure = new Backpressure(settings.limits().overflow(), waits, clock, counters);
        this.counters = counters;
        this.sender = sender;
        this.reports = reports;
        this.spans = new SpanIds(clock.wallNs());
    }

    /**
     * Writes a request and returns its id; the listener then gets one outcome.
     *
     * @param parentDeadlineNs on CLOCK_BOOTTIME; 0 for none
     * @param creation makes the reference to the value that the request creates; null when it creates none
     * @param callers the context that is current for the listener
     * @param context the context that is on record with the request
     * @throws CallException when nothing was written; the listener is not called then
     */
    long write(
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation,
            CallContext callers,
            CallContext context) {
        long nowNs = clock.bootNs();
        try {
            long id;
            do {
                id = send(request, listener, parent, parentDeadlineNs, creation, callers, context, nowNs);
            } while (id == PEER_LEFT);
            return id;
        } catch (InjectedFailure e) {
            listener.onFailure(e.outcome());
            return e.outcome().messageId();
        } catch (InternalError e) {
            throw CallErrors.unlessFault(e, request.to());
        }
    }

    private long send(
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation,
            CallContext callers,
            CallContext context,
            long nowNs) {
        long timeoutNs = settings.timeoutNs(request);
        long deadlineNs = CallSettings.deadlineNs(nowNs, timeoutNs);
        if (parentDeadlineNs != 0 && (deadlineNs == 0 || parentDeadlineNs < deadlineNs)) {
            deadlineNs = parentDeadlineNs;
            timeoutNs = Math.max(1, parentDeadlineNs - nowNs);
        }
        boolean mayWait = Route.mayBeLeft(request.type().code());
        PeerLink link = lookup.require(request.to(), deadlineNs, mayWait);
        Plan plan = request.tensors().isEmpty() ? null : plan(request, link, deadlineNs, timeoutNs);
        SentReferences sharing = null;
        long id;
        int length;
        boolean published = false;
        try {
            sharing = request.references().isEmpty() && creation == null
                    ? null
                    : SentReferences.of(request.references(), link, creation);
            length = settings.length(request, plan, sharing, context);
            id = appendWhenThereIsRoom(
                    request,
                    plan,
                    sharing,
                    listener,
                    link,
                    length,
                    settings.flags(request, plan, sharing, link),
                    nowNs,
                    deadlineNs,
                    parent,
                    timeoutNs,
                    callers,
                    context);
            published = id >= 0;
        } finally {
            if (!published) {
                SentReferences.takeBack(sharing, plan);
            }
        }
        if (!published) {
            return id == PEER_LEFT ? id : completedElsewhere(id);
        }
        // from here on nothing changes the outcome, and nothing is thrown
        if (plan != null) {
            appender.committed(plan, id);
        }
        onSent(link, id, deadlineNs);
        try {
            if (!reports.isEmpty()) {
                reports.appended(request, id, parent, link.id(), length, nowNs, context, spans.of(id, context));
            }
        } catch (RuntimeException | Error e) {
            appender.failedBehind(id, "it could not be reported to the listeners for events", e);
        }
        return id;
    }

    /** Wakes the peer if it sleeps, and the poller if it would sleep beyond the deadline. Does not throw. */
    private void onSent(PeerLink link, long id, long deadlineNs) {
        appender.announce(link, id);
        poller.onDeadline(deadlineNs);
    }

    /** Prepares the tensors, and waits while the peer has too many leases. */
    private Plan plan(Request request, PeerLink link, long deadlineNs, long timeoutNs) {
        while (true) {
            try {
                return transit.sender()
                        .plan(request.tensors(), link.id(), link.devices().requests());
            } catch (CallException e) {
                if (e.code() != ErrorCode.BACK_PRESSURE || link.condition() != PeerLink.Condition.OPEN) {
                    throw e;
                }
                backpressure.await(e.getMessage(), deadlineNs, timeoutNs);
            }
        }
    }

    private long appendWhenThereIsRoom(
            Request request,
            Plan plan,
            SentReferences sharing,
            ResponseListener listener,
            PeerLink link,
            int length,
            int flags,
            long nowNs,
            long deadlineNs,
            long parent,
            long timeoutNs,
            CallContext callers,
            CallContext context) {
        OperationCounts counts = counters.called().of(request, link.id(), link.name());
        for (boolean waited = false; ; waited = true) {
            appender.lock();
            try {
                if (isLeft(link, request)) {
                    return PEER_LEFT;
                }
                state.requireOpen(link);
                if (link.flow().hasRoom(length, settings.limits())) {
                    long wallNs = clock.wallNsAt(nowNs);
                    PendingCalls.Slot slot = pending.claim(
                            listener, callers, link, length, flags, counts, wallNs, deadlineNs, timeoutNs);
                    if (slot != null) {
                        link.flow().sent(length);
                        if (link.isSwept()) { // after it was found open: no other thread will complete this call
                            return isLeft(link, request) && pending.takeBack(slot)
                                    ? PEER_LEFT
                                    : notWritten(slot, slot.id(), link, counts, state.refusal(link));
                        }
                        return append(
                                request, plan, sharing, link, slot, counts, flags, wallNs, deadlineNs, parent, context);
                    }
                }
            } finally {
                appender.unlock();
            }
            if (!waited) {
                backpressure.requireMayWait(link);
            }
            backpressure.await(link, deadlineNs, timeoutNs);
        }
    }

    /** Returns the id; {@link #completedElsewhere} of it when the request was not written, and another thread has completed the call. */
    private long append(
            Request request,
            Plan plan,
            SentReferences sharing,
            PeerLink link,
            PendingCalls.Slot slot,
            OperationCounts counts,
            int flags,
            long wallNs,
            long deadlineNs,
            long parent,
            CallContext context) {
        long id = slot.id();
        long sequence;
        try {
            if (!appender.journal().isComfortable()) {
                appender.journal().topUp(); // throws when there is no room for new work
            }
            MessageBuffer record = appender.buffer();
            int payloadLength = CallSettings.payloadLength(request, sharing, context);
            int sectionLength = plan == null ? 0 : plan.sectionLength(payloadLength);
            record.begin(request.type(), id, workerId, link.id(), payloadLength, sectionLength)
                    .flags(flags)
                    .deadlineNs(deadlineNs)
                    .sentNs(wallNs)
                    .parent(parent)
                    .dueNs(CallSettings.deadlineNs(wallNs, slot.timeoutNs()))
                    .epoch(link.epoch())
                    .payload(request.payloadArray(), 0, request.payloadLength());
            if (context != CallContext.EMPTY) {
                record.context(context, spans.of(id, context), request.payloadLength());
            }
            if (sharing != null) {
                sharing.write(record, payloadLength - sharing.length());
            }
            if (plan != null) {
                plan.write(record, payloadLength);
                record.tensorCount(plan.tensorCount());
            }
            sequence = appender.journal().size();
            sender.put(record, link, wallNs);
        } catch (JournalFullException | JournalFailedException e) {
            return notWritten(slot, id, link, counts, CallErrors.notWritten(e));
        } catch (RuntimeException e) {
            return notWritten(slot, id, link, counts, e);
        } catch (Error e) {
            return notWritten(slot, id, link, counts, e);
        }
        try { // from here on it is published, or kept to be
            if (plan != null) {
                appender.appended(plan, sequence, id);
            }
            counters.countSent();
            counts.begun();
        } catch (RuntimeException | Error e) {
            appender.failedBehind(id, "it could not be counted", e);
        }
        return id;
    }

    /** Ends the call of a request that was not written: by the exception, unless another thread has completed the call, and counted it. */
    private <E extends Throwable> long notWritten(
            PendingCalls.Slot slot, long id, PeerLink link, OperationCounts counts, E e) throws E {
        link.flow().notWritten();
        if (pending.take(id) != null) {
            pending.free(slot);
            throw e;
        }
        counts.begun();
        return completedElsewhere(id);
    }

    /** Returns whether a request is to be sent to the successor of a peer that has left. */
    private static boolean isLeft(PeerLink link, Request request) {
        return link.mayBeSucceeded() && Route.mayBeLeft(request.type().code());
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
        int length = request.buffer().length();
        appender.lock();
        try {
            state.requireOpen(link);
            if (!appender.journal().isComfortable()) {
                appender.journal().topUp();
            }
            long wallNs = clock.wallNs();
            MessageBuffer record = appender.buffer();
            record.reserve(length);
            record.memory().putBytes(0, request.buffer().memory(), 0, length);
            record.addFlag(Envelope.REPEATED)
                    .deadlineNs(deadlineNs)
                    .dueNs(deadlineNs == 0 ? 0 : clock.wallNsAt(deadlineNs))
                    .sentNs(wallNs)
                    .epoch(link.epoch());
            appender.journal().append(record, wallNs);
            counters.countSent();
            link.flow().sent(length);
            link.flow().completed(length);
        } catch (JournalFullException | JournalFailedException e) {
            throw CallErrors.notWritten(e);
        } finally {
            appender.unlock();
        }
        appender.announce(link, request.id());
    }

    void requireOpen() {
        state.requireOpen();
    }

    /** Fails all later calls with this text, because the journal accepts no more records. */
    public void fail(String why) {
        state.failed(why);
        close();
    }

    /** Creates the error of a call that was in flight when the worker closed. */
    public CallException ended(long id, String workerName) {
        return state.ended(id, workerName);
    }

    /** Rejects further calls; the poller completes those without an outcome. */
    public void close() {
        appender.lock();
        try {
            state.close();
        } finally {
            appender.unlock();
        }
    }
}
