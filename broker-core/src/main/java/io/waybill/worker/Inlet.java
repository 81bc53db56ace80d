package io.waybill.worker;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.ResponseListener;
import io.waybill.handling.Delivered;
import io.waybill.handling.ErrorText;
import io.waybill.host.Clock;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads what peers wrote: settles calls with their responses, and hands their requests on to be served.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}.
 */
final class Inlet implements Polled {

    private static final Logger LOG = LoggerFactory.getLogger(Inlet.class);
    private static final int MAX_PER_LINK = 64;
    private static final int POLLS_PER_CLOCK_READ = 64;
    private static final long ALL_INTERVAL_NS = 1_000_000;

    private final int workerId;
    private final Clock clock;
    private final Links links;
    private final PendingCalls pending;
    private final Deadlines deadlines;
    private final Serving serving;
    private final InboundPool pool;
    private final TensorTransit transit;
    private final WorkerReferences references;
    private final SelfTails selfTails;
    private final WorkerCounters counters;
    private final Quarantine quarantine;
    private final AwaitedReturns returns;
    private final PollPermit permit;
    private final Delivery delivery;
    private final DeviceResponses deviceResponses;
    // Both are null while a listener sees them: should the permit be revoked meanwhile, they are not the next holder's.
    private ResponseView response;
    private Inbound next;
    private long revocationsSeen;
    private int pollsUntilClock;
    private boolean allDue;
    private long nextAllNs;

    Inlet(
            int workerId,
            Clock clock,
            Links links,
            PendingCalls pending,
            Deadlines deadlines,
            Serving serving,
            InboundPool pool,
            TensorTransit transit,
            WorkerReferences references,
            SelfTails selfTails,
            Quarantine quarantine,
            AwaitedReturns returns,
            PollPermit permit,
            Delivery delivery,
            DeviceResponses deviceResponses,
            WorkerCounters counters) {
        this.workerId = workerId;
        this.clock = clock;
        this.links = links;
        this.pending = pending;
        this.deadlines = deadlines;
        this.serving = serving;
        this.pool = pool;
        this.transit = transit;
        this.references = references;
        this.selfTails = selfTails;
        this.quarantine = quarantine;
        this.returns = returns;
        this.permit = permit;
        this.delivery = delivery;
        this.deviceResponses = deviceResponses;
        this.counters = counters;
    }

    /**
     * Looks once at everything, without exception: before the poller sleeps.
     *
     * @return how much was done, 0 for nothing, or {@link #PERMIT_LOST}
     */
    @Override
    public int pollAll() {
        allDue = true;
        return poll();
    }

    /**
     * Looks once where something may be. Responses that nobody waits for are looked at once a millisecond.
     *
     * @return how much was done, 0 for nothing, or {@link #PERMIT_LOST}
     */
    @Override
    public int poll() {
        if (permit.revocations() != revocationsSeen) {
            takeOver();
        }
        boolean all = allDue;
        allDue = false;
        int work = 0;
        PeerLink[] current = links.current();
        quarantine.lookIfAlarmed();
        for (PeerLink link : current) {
            if (link.isSwept()) { // and perhaps closed, while a handler ran
                if (link.isRecovered() && link.nextUnanswered() >= 0) {
                    int done = serveUnanswered(link);
                    if (done == PERMIT_LOST) {
                        return PERMIT_LOST;
                    }
                    work += done;
                }
                continue;
            }
            if (link.isSelf() && link.isQuiet() && link.condition() == PeerLink.Condition.OPEN) {
                continue;
            }
            int done = pollSafely(link, all);
            if (done == PERMIT_LOST) {
                return PERMIT_LOST;
            }
            work += done;
        }
        while (serving.hasRepeats()) {
            work++;
            if (!serving.serveRepeat()) {
                return PERMIT_LOST;
            }
        }
        if (serving.hasParked()) {
            int unparked = serving.unpark();
            if (unparked == PERMIT_LOST) {
                return PERMIT_LOST;
            }
            work += unparked;
        }
        if (--pollsUntilClock <= 0) {
            pollsUntilClock = POLLS_PER_CLOCK_READ;
            expire();
        }
        return work;
    }

    /** The last holder lost the permit inside of a listener: goes on with what it may have left half done. */
    private void takeOver() {
        revocationsSeen = permit.revocations();
        allDue = true;
        pollsUntilClock = 0;
        long nowNs = clock.bootNs();
        deadlines.add(nowNs); // it may have been settling calls that are overdue
        for (PeerLink link : links.current()) {
            if (link.isSwept()) {
                settleSwept(link);
            }
        }
    }

    /** Whatever happens while one peer's files are read, the others' are read too. */
    private int pollSafely(PeerLink link, boolean all) {
        try {
            int done = poll(link, all);
            quarantine.wentWell(link);
            return done;
        } catch (RuntimeException | InternalError e) {
            if (!serving.mayPoll()) {
                throw e;
            }
            dropNext(); // whatever is in it
            quarantine.failedToRead(link, e);
            return 0;
        }
    }

    private int poll(PeerLink link, boolean all) {
        int work = 0;
        if (link.condition() == PeerLink.Condition.UNREADABLE) {
            settleSwept(link);
            return 0;
        }
        if (all || link.expectsResponses()) {
            work += pollResponses(link);
        }
        if (link.condition() != PeerLink.Condition.OPEN) {
            sweep(link);
            return work;
        }
        int served = link.requests() == null ? 0 : pollRequests(link);
        return served == PERMIT_LOST ? PERMIT_LOST : work + served;
    }

    /** Reads the clock for what is judged by it; the next poll settles what is overdue. Calls no listener. */
    @Override
    public void readClock() {
        pollsUntilClock = 0;
        lookAtClock();
    }

    private long lookAtClock() {
        quarantine.surfaceFaults();
        long nowNs = clock.bootNs();
        serving.now(nowNs);
        if (nowNs >= nextAllNs) {
            nextAllNs = nowNs + ALL_INTERVAL_NS;
            allDue = true;
        }
        selfTails.forward(links.current(), nowNs);
        return nowNs;
    }

    /** Settles what is overdue. */
    private void expire() {
        long nowNs = lookAtClock();
        if (!returns.isEmpty()) {
            returns.look(nowNs, this::endNotReturned);
        }
        if (nowNs < deadlines.earliestNs()) {
            return;
        }
        deadlines.restart();
        deadlines.add(zeroForNever(pending.expire(nowNs, this::timedOut)));
    }

    private static long zeroForNever(long deadlineNs) {
        return deadlineNs == Long.MAX_VALUE ? 0 : deadlineNs;
    }

    private void timedOut(PendingCalls.Slot slot, long id) {
        counters.countTimeout();
        long timeoutNs = slot.timeoutNs();
        String peer = slot.link().toString();
        delivery.fail(pending.free(slot), CallErrors.timedOut(id, timeoutNs, peer));
    }

    private int pollResponses(PeerLink link) {
        JournalTail tail = link.responses();
        int work = 0;
        while (work < MAX_PER_LINK) {
            Inbound inbound = next();
            Poll found = poll(tail, inbound);
            if (found == Poll.NONE || link.isBeyondEnd()) {
                break;
            }
            work++;
            if (found == Poll.DAMAGED) {
                requireReadable(tail);
                damaged(link, tail.damage());
            }
            link.responseRead(); // before a listener is told, which may not return
            if (found == Poll.RECORD) {
                next = null;
                next = settle(link, inbound);
            }
        }
        return work;
    }

    /** Returns what the next record may be read into: the same, unless somebody else has it now. */
    private Inbound settle(PeerLink link, Inbound inbound) {
        RecordView record = inbound.view();
        MessageType type = record.type();
        if (!type.isResponse() || record.from() != link.id()) {
            damaged(
                    link,
                    "a record in the responses of " + link + " says that it is a " + type + " of worker "
                            + record.from());
            return inbound;
        }
        PendingCalls.Slot slot = pending.take(record.id());
        if (slot == null) {
            counters.countLate();
            transit.discard(record, link);
            references.declineAnswered(record, link);
            return inbound;
        }
        if (slot.link().id() != link.id()) {
            pending.giveBack(slot, record.id());
            damaged(link, "an answer of " + link + " to a call that went to " + slot.link());
            return inbound;
        }
        counters.countResponse();
        if (type == MessageType.EXCEPTION) {
            transit.discard(record, link);
            CallException failure =
                    new CallException(record.errorKind(), record.errorCode(), record.id(), ErrorText.of(record));
            delivery.fail(pending.free(slot), failure);
            return inbound;
        }
        return read(link, inbound, slot);
    }

    /** Whatever happens between here and the listener, the call has an outcome: it is taken, and nobody else will give it one. */
    private Inbound read(PeerLink link, Inbound inbound, PendingCalls.Slot slot) {
        RecordView record = inbound.view();
        ArrivedReferences shared = ArrivedReferences.none();
        ReceivedTensors tensors = null;
        CallException failure;
        try {
            shared = takeReferences(record, link);
            tensors = transit.receiver().arrive(record, link.segments());
            if (tensors.isForDevice()) {
                boolean keeping = slot.isKeeping();
                slot.arrive();
                pending.giveBack(slot, record.id()); // it may time out meanwhile
                deviceResponses.complete(inbound, tensors, shared, keeping);
                return null;
            }
            if (slot.isKeeping()) {
                tensors.detach();
            }
            failure = null;
        } catch (MalformedRecordException e) {
            failure = Delivery.unreadable(record.id(), ErrorCode.PEER_CORRUPT, e.getMessage(), e);
        } catch (RejectedMessageException e) {
            failure = Delivery.unreadable(record.id(), e.code(), e.getMessage(), e);
        } catch (CallException e) { // no room to keep them in
            failure = Delivery.unreadable(record.id(), e.code(), e.getMessage(), e);
        } catch (RuntimeException | Error e) {
            boolean fault = MappedFaults.is(e);
            failure = Delivery.unreadable(
                    record.id(), fault ? ErrorCode.PEER_CORRUPT : ErrorCode.UNKNOWN, String.valueOf(e), e);
            if (fault) {
                quarantine.failedToRead(link, e);
            }
        }
        return deliver(inbound, pending.free(slot), tensors, shared, failure);
    }

    /** Gives back the tensors when the references can't be had. */
    private ArrivedReferences takeReferences(RecordView record, PeerLink link) throws RejectedMessageException {
        try {
            return references.takeAnswered(record, link);
        } catch (RejectedMessageException e) {
            transit.discard(record, link);
            throw e;
        }
    }

    private Inbound deliver(
            Inbound inbound,
            ResponseListener listener,
            ReceivedTensors tensors,
            ArrivedReferences shared,
            CallException failure) {
        boolean free = false;
        try {
            if (failure == null) {
                ResponseView view = takeView();
                delivery.respond(listener, view, inbound.view(), tensors.tensors(), shared);
                response = view;
            } else {
                shared.release();
                delivery.fail(listener, failure);
            }
            free = true;
        } finally {
            free &= tensors == null || tensors.release() == ReceivedTensors.RecordCopy.FREE;
            if (!free) {
                pool.drop(inbound);
            }
        }
        return free ? inbound : null;
    }

    private ResponseView takeView() {
        ResponseView view = response == null ? new ResponseView() : response;
        response = null;
        return view;
    }

    /** Requests that an earlier incarnation left unanswered, of a peer that may have gone meanwhile. */
    private int serveUnanswered(PeerLink link) {
        int work = 0;
        while (work < MAX_PER_LINK && serving.isOpen() && link.nextUnanswered() >= 0) {
            work++;
            if (!serving.serveUnanswered(link)) {
                return PERMIT_LOST;
            }
        }
        return work;
    }

    private int pollRequests(PeerLink link) {
        if (!link.isRecovered() || !serving.isOpen()) {
            return 0;
        }
        if (link.nextUnanswered() >= 0) { // they come first
            return serveUnanswered(link);
        }
        JournalTail tail = link.placedRequests();
        int work = 0;
        // a later incarnation of the peer may be read by another link, from where this one stopped
        while (work < MAX_PER_LINK && link.condition() == PeerLink.Condition.OPEN) {
            Inbound inbound = next();
            Poll found = poll(tail, inbound);
            if (found == Poll.NONE) {
                break;
            }
            work++;
            if (found == Poll.SKIPPED) {
                link.requestsSkipped();
            } else {
                if (found == Poll.DAMAGED) {
                    requireReadable(tail);
                }
                boolean request = found == Poll.RECORD && isRequest(inbound.view(), link);
                if (request) { // before it counts as read: see FinishedPlaces
                    inbound.arrivedFrom(link, tail.lastIndex(), Delivered.FIRST);
                }
                link.requestRead(inbound.buffer().length());
                if (found == Poll.DAMAGED) {
                    damaged(link, tail.damage());
                } else if (!request) {
                    damaged(
                            link,
                            "a record in the requests of " + link + " says that it is a "
                                    + inbound.view().type() + " of worker "
                                    + inbound.view().from());
                } else {
                    next = null;
                    if (!serving.serve(inbound)) {
                        return PERMIT_LOST;
                    }
                    next = serving.takeSpare();
                    if (link.isSwept()) {
                        break;
                    }
                }
            }
        }
        return work;
    }

    private static boolean isRequest(RecordView record, PeerLink link) {
        return record.type().isRequest() && record.from() == link.id();
    }

    private Poll poll(JournalTail tail, Inbound into) {
        Poll found = tail.poll(into.buffer(), workerId);
        quarantine.polled(found);
        return found;
    }

    private static void requireReadable(JournalTail tail) {
        if (tail.isFaulted()) {
            throw new IllegalStateException(tail.damage());
        }
    }

    private Inbound next() {
        Inbound inbound = next;
        if (inbound == null) {
            inbound = pool.take();
            next = inbound;
        }
        return inbound;
    }

    private void dropNext() {
        if (next != null) {
            pool.drop(next);
            next = null;
        }
    }

    private void damaged(PeerLink link, String what) {
        counters.countDamaged();
        if (link.countDamaged()) {
            LOG.error(
                    "What worker {} wrote does not read back whole; such records are skipped and counted: {}",
                    link,
                    what);
        }
    }

    /** The peer is gone and all that it answered was read: what is left has no response. */
    private void sweep(PeerLink link) {
        if (pollResponses(link) > 0) {
            return; // again at the next poll, until nothing is left
        }
        settleSwept(link);
    }

    /** Nothing more is read of a link: what waits for it has its outcome. */
    private void settleSwept(PeerLink link) {
        quarantine.surfaceFaults();
        link.swept(); // first: a call that is sent from here on sees it and ends by itself
        boolean mayReturn = link.condition() != PeerLink.Condition.UNREADABLE;
        pending.takeWhere(
                slot -> slot.link() == link && !slot.hasArrived() && !(mayReturn && slot.isAcrossIncarnations()),
                (slot, id) -> delivery.fail(pending.free(slot), CallErrors.ended(id, link)));
        if (mayReturn && link.expectsResponses()) { // from a later incarnation
            deadlines.add(returns.await(link, clock.bootNs()));
        }
    }

    private void endNotReturned(PeerLink link) {
        pending.takeWhere(
                slot -> slot.link() == link && !slot.hasArrived(),
                (slot, id) -> delivery.fail(pending.free(slot), CallErrors.notReturned(id, link, returns.limitNs())));
    }

    /** The worker closes: nothing will be answered any more. */
    void settleAll(CallFailure failure) {
        pending.takeWhere(slot -> true, (slot, id) -> delivery.fail(pending.free(slot), failure.of(id)));
    }

    /** Makes the error for a call. */
    @FunctionalInterface
    interface CallFailure {
        CallException of(long id);
    }
}
