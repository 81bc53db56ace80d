package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.handling.Failure;
import io.waybill.host.Clock;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.ArrivalClock;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.Deadlines;
import io.waybill.worker.reference.ReceivedReferences;
import io.waybill.worker.reference.WorkerReferences;

/**
 * Completes calls: with the responses that peers wrote, with timeouts, and after the end of a peer.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class ResponseReceiver {

    private static final int MAX_PER_POLL = 64;

    private final Clock clock;
    private final PendingCalls pending;
    private final Deadlines deadlines;
    private final TensorTransit transit;
    private final WorkerReferences references;
    private final Quarantine quarantine;
    private final RecordReader reader;
    private final AwaitedReturns returns;
    private final RepeatedCalls repeated;
    private final OutcomeDelivery delivery;
    private final DeviceResponses deviceResponses;
    private final DeviceResponses.RecordPool records;
    private final WorkerCounters counters;
    private final ArrivalClock arrivals;
    // Both are null while a listener uses them: if the permit is revoked then, the next holder must not reuse them.
    private ResponseView response;
    private RecordView next;

    ResponseReceiver(
            CallingContext context,
            WorkerReferences references,
            RecordReader reader,
            DeviceResponses deviceResponses,
            RepeatedCalls repeated) {
        this.clock = context.publishing().clock();
        this.pending = context.pending();
        this.deadlines = context.deadlines();
        this.transit = context.transit();
        this.references = references;
        this.quarantine = reader.quarantine();
        this.reader = reader;
        this.returns = context.returns();
        this.repeated = repeated;
        this.delivery = context.delivery();
        this.deviceResponses = deviceResponses;
        this.records = deviceResponses.records();
        this.counters = context.counters();
        this.arrivals = new ArrivalClock(clock);
    }

    /**
     * Reads responses of a peer, up to the limit of one poll.
     *
     * @return number of records for this worker that were read, at least 1 when the limit was reached
     */
    public int poll(PeerLink link) {
        JournalTail tail = link.reader().responses();
        int reads = 0;
        int work = 0;
        link.reader().writeResponsesPosition(); // after a response whose listener lost the permit, or that failed
        while (reads < MAX_PER_POLL) {
            RecordView record = next();
            Poll found = reader.poll(tail, record.buffer());
            if (found == Poll.NONE) {
                link.reader().responsesReadToEnd();
            }
            if (found == Poll.NONE || link.reader().isBeyondEnd()) {
                break;
            }
            reads++;
            if (found != Poll.SKIPPED) {
                work++;
            }
            if (found == Poll.DAMAGED) {
                RecordReader.requireReadable(tail);
                reader.damaged(link, tail.damage());
            }
            link.reader().responseRead();
            if (found == Poll.RECORD) {
                next = null;
                next = complete(link, record);
            }
            link.reader()
                    .writeResponsesPosition(); // not earlier: were the process killed in the listener, it could not
            // claim the outcome
        }
        return reads < MAX_PER_POLL ? work : Math.max(1, work);
    }

    /** Drops a record that a failed read may have left incomplete. */
    public void dropNext() {
        next = null;
    }

    private RecordView next() {
        RecordView record = next;
        if (record == null) {
            record = records.take();
            next = record;
        }
        return record;
    }

    /** Returns the buffer for the next record: the same one, unless it is in use beyond this call. */
    private RecordView complete(PeerLink link, RecordView record) {
        MessageType type = record.type();
        if (!type.isResponse() || record.from() != link.id()) {
            reader.damaged(
                    link,
                    "a record in the responses of " + link + " says that it is a " + type + " of worker "
                            + record.from());
            return record;
        }
        PendingCalls.Slot slot = pending.take(record.id());
        if (slot == null) {
            counters.countLate();
            transit.discard(record, link);
            references.declineResponded(record, link);
            return record;
        }
        if (slot.link().id() != link.id()) {
            pending.giveBack(slot, record.id());
            reader.damaged(link, "a response of " + link + " to a call that went to " + slot.link());
            return record;
        }
        counters.countResponse();
        if (type == MessageType.EXCEPTION) {
            CallException failure = failureOf(record, link);
            slot.count(failure.code(), record.buffer().length(), arrivals.arrivedNs(record.sentNs()));
            delivery.fail(slot.context(), slot.link().id(), pending.free(slot), failure);
            return record;
        }
        return decode(link, record, slot);
    }

    /**
     * Returns the failure that a record contains, or a failure because it can't be read: the call was taken, so it gets
     * an outcome.
     */
    private CallException failureOf(RecordView record, PeerLink link) {
        try {
            transit.discard(record, link);
            return Failure.exceptionOf(record);
        } catch (RuntimeException | Error e) {
            return unreadable(record, link, e);
        }
    }

    private CallException unreadable(RecordView record, PeerLink link, Throwable e) {
        boolean fault = MappedFaults.is(e);
        if (fault) {
            try {
                quarantine.failedToRead(link, e);
            } catch (RuntimeException | Error inQuarantine) {
                e.addSuppressed(inQuarantine);
            }
        }
        ErrorCode code = fault ? ErrorCode.PEER_CORRUPT : CallErrors.codeOf(e, ErrorCode.UNKNOWN);
        return OutcomeDelivery.unreadable(record.id(), code, String.valueOf(e), e);
    }

    /**
     * Decodes a response and completes its call. The call was taken by this thread, so it gets an outcome whichever
     * step fails here.
     */
    private RecordView decode(PeerLink link, RecordView record, PendingCalls.Slot slot) {
        ReceivedReferences shared = ReceivedReferences.none();
        ReceivedTensors tensors = null;
        CallException failure;
        try {
            shared = takeReferences(record, link);
            tensors = transit.receiver().arrive(record, link.segments());
            if (slot.isKeeping() && !tensors.isForDevice()) {
                tensors.detach();
            }
            failure = null;
        } catch (MalformedRecordException e) {
            failure = OutcomeDelivery.unreadable(record.id(), ErrorCode.PEER_CORRUPT, e.getMessage(), e);
        } catch (RejectedMessageException e) {
            failure = OutcomeDelivery.unreadable(record.id(), e.code(), e.getMessage(), e);
        } catch (CallException e) { // no memory to retain them
            failure = OutcomeDelivery.unreadable(record.id(), e.code(), e.getMessage(), e);
        } catch (RuntimeException | Error e) {
            failure = unreadable(record, link, e);
        }
        if (failure == null && tensors.isForDevice()) {
            boolean keeping = slot.isKeeping();
            slot.arrive();
            pending.giveBack(
                    slot, record.id()); // the slot is no longer this thread's: the call may time out in the meantime
            deviceResponses.complete(record, tensors, shared, keeping);
            return null;
        }
        CallContext context = slot.context();
        ErrorCode error = failure == null ? null : failure.code();
        slot.count(error, record.buffer().length(), arrivals.arrivedNs(record.sentNs()));
        ResponseListener listener = failure == null ? pending.responding(slot, record.id()) : pending.free(slot);
        return deliver(context, record, listener, tensors, shared, failure);
    }

    /** Takes the references, and releases the tensors when that fails. */
    private ReceivedReferences takeReferences(RecordView record, PeerLink link) throws RejectedMessageException {
        try {
            return references.takeResponded(record, link);
        } catch (RejectedMessageException e) {
            transit.discard(record, link);
            throw e;
        }
    }

    private RecordView deliver(
            CallContext context,
            RecordView record,
            ResponseListener listener,
            ReceivedTensors tensors,
            ReceivedReferences shared,
            CallException failure) {
        boolean free = false;
        try {
            if (failure == null) {
                ResponseView view = takeView();
                delivery.respond(context, listener, view, record, tensors.tensors(), shared);
                response = view;
            } else {
                shared.release();
                delivery.failUnrecorded(context, record.from(), listener, failure);
            }
            free = true;
        } finally {
            free &= tensors == null || tensors.release() == ReceivedTensors.RecordCopy.FREE;
        }
        return free ? record : null;
    }

    private ResponseView takeView() {
        ResponseView view = response == null ? new ResponseView() : response;
        response = null;
        return view;
    }

    // ---- calls without a response

    /** Fails calls whose deadline has passed, and repeats those that are due. */
    public void expire(long nowNs) {
        if (!returns.isEmpty()) {
            returns.look(nowNs, this::failNotReturned, this::failNotSucceeded);
        }
        if (nowNs >= deadlines.earliestNs()) {
            deadlines.restart();
            deadlines.add(zeroForNever(pending.expire(nowNs, this::timedOut)));
            deadlines.add(repeated.run(nowNs, delivery));
        }
        if (!returns.isEmpty()) {
            deadlines.add(returns.nextNs());
        }
    }

    private static long zeroForNever(long deadlineNs) {
        return deadlineNs == Long.MAX_VALUE ? 0 : deadlineNs;
    }

    private void timedOut(PendingCalls.Slot slot, long id) {
        counters.countTimeout();
        long timeoutNs = slot.timeoutNs();
        String peer = slot.link().toString();
        slot.count(ErrorCode.TIMED_OUT, 0, clock.wallNs());
        delivery.failUnrecorded(
                slot.context(), slot.link().id(), pending.free(slot), CallErrors.timedOut(id, timeoutNs, peer));
    }

    /** Reads the last responses of a peer that has ended, and fails the other calls to it once none are left. */
    public void sweep(PeerLink link) {
        if (poll(link) == 0) {
            failSwept(link);
        }
    }

    /** Ends a link that is no longer read: fails the calls to it that no later incarnation may respond to. */
    public void failSwept(PeerLink link) {
        quarantine.surfaceFaults();
        link.swept(); // first: a call that is sent from here on sees it and fails by itself
        boolean mayReturn = link.condition() != PeerLink.Condition.UNREADABLE;
        boolean maySucceed = link.mayBeSucceeded();
        pending.takeWhere(
                slot -> slot.link() == link
                        && !slot.hasArrived()
                        && !(mayReturn && slot.isAcrossIncarnations())
                        && !(maySucceed && slot.mayBeLeft()),
                (slot, id) -> fail(slot, CallErrors.ended(id, link)));
        if (mayReturn && link.flow().expectsResponses()) { // from a later incarnation
            returns.await(link, clock.bootNs());
            deadlines.add(returns.nextNs());
        }
    }

    private void fail(PendingCalls.Slot slot, CallException failure) {
        slot.count(failure.code(), 0, clock.wallNs());
        delivery.failUnrecorded(slot.context(), slot.link().id(), pending.free(slot), failure);
    }

    private void failNotReturned(PeerLink link) {
        pending.takeWhere(
                slot -> slot.link() == link && !slot.hasArrived(),
                (slot, id) -> fail(slot, CallErrors.notReturned(id, link, returns.limitNs())));
    }

    private void failNotSucceeded(PeerLink link) {
        pending.takeWhere(
                slot -> slot.link() == link && !slot.hasArrived() && !slot.isAcrossIncarnations(),
                (slot, id) -> fail(slot, CallErrors.notSucceeded(id, link)));
    }

    /** Fails all calls when the worker closes. */
    public void failAll(CallFailure failure) {
        repeated.close(delivery, failure); // first: calls that fail from here on are not repeated
        pending.takeWhere(slot -> true, (slot, id) -> {
            CallException ended = failure.of(id);
            slot.countElsewhere(ended.code(), 0, clock.wallNs()); // a poll that does not return may have the permit
            delivery.failUnrecorded(slot.context(), slot.link().id(), pending.free(slot), ended);
        });
        delivery.close();
    }

    /** Factory of the error of a call. */
    @FunctionalInterface
    public interface CallFailure {
        CallException of(long id);
    }
}
