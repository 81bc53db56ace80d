package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Outcome;
import io.waybill.exchange.Exchange;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.HandlerSearch;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Clock;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.RereadTails;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.HandlerPolling;
import io.waybill.worker.poll.HandlerSlot;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.Polled;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Dispatches requests to their handlers: immediately, on the bundle's threads, or, without a handler, after parking.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}, released while a non-blocking handler runs.
 */
public final class RequestDispatcher {

    private static final Logger LOG = LoggerFactory.getLogger(RequestDispatcher.class);
    private static final long RELEASE_NS = 1_000_000_000;

    private final HandlerLookup lookup;
    private final HandlerSearch search;
    private final Sought sought = new Sought();
    private final Clock clock;
    private final PollPermit permit;
    private final HandlerPolling handlers;
    private final RequestPool pool;
    private final RequestClock time;
    private final AccessGate gate;
    private final WorkerCounters counters;
    private final ParkingLot parking;
    private final RereadTails reread;
    private final TensorTransit transit;
    private final ResponseWriter responses;
    private final PreviousIncarnation earlier;
    private final RepeatedRequests repeats;
    private long sequence; // number of the last request that was admitted
    private long nextReleaseNs;
    private volatile boolean leaving; // set by the thread that closes the worker
    private PeerRequest spare;

    /** Parts that read requests again which wait, are repeated, or were not responded to by an earlier incarnation. */
    record Again(RereadTails reread, PreviousIncarnation earlier, RepeatedRequests repeats) {}

    RequestDispatcher(
            ServingContext context, HandlerPolling handlers, RequestPool pool, ParkingLot parking, Again again) {
        this.lookup = context.lookup();
        this.search = new HandlerSearch(lookup, context.exchanges());
        this.clock = context.clock();
        this.handlers = handlers;
        this.permit = handlers.permit();
        this.pool = pool;
        this.counters = context.counters();
        this.responses = context.responses();
        this.time = new RequestClock(clock, responses);
        this.transit = context.transit();
        this.reread = again.reread();
        this.earlier = again.earlier();
        this.repeats = again.repeats();
        this.parking = parking;
        this.gate = parking.gate();
    }

    /** Returns whether requests may be read; otherwise they stay in the journal. */
    boolean isOpen() {
        return !leaving && responses.canRespond();
    }

    /** Returns whether a request was sent to an earlier incarnation of this worker. */
    boolean isForEarlier(RecordView view) {
        return earlier.isFor(view);
    }

    /** Begins no more requests after the current poll. Any thread. */
    public void leave() {
        leaving = true;
    }

    /**
     * Serves a request that was just read.
     *
     * @return whether this thread still has the permit
     */
    boolean serve(PeerRequest request) {
        if (request.view().isRepeated()) {
            takeRepeat(request);
            return true;
        }
        return serveOnce(request);
    }

    /** Handles a repeated request: one in flight or waiting has one response for all repeats. */
    private void takeRepeat(PeerRequest request) {
        if (repeats.isFull()) {
            String text = "the responses to " + RepeatedRequests.MAX
                    + " repeated requests, the max, are being looked for already";
            request.response().refuse(ErrorCode.BACK_PRESSURE, text);
            return;
        }
        PeerLink link = request.link();
        long index = request.index();
        long id = request.view().id();
        transit.discard(request.view(), link); // a request with leased tensors is not sent again
        request.leave();
        if (!repeats.has(id) && !parking.hasId(id) && !pool.isOpen(id)) {
            repeats.add(link, index, id);
        }
    }

    /** Returns whether requests wait that were read before. */
    boolean hasWaiting() {
        return (!parking.isEmpty() || repeats.isAnyFound()) && !leaving;
    }

    boolean hasRepeats() {
        return !leaving && repeats.isAnyFound();
    }

    /** Serves a repeated request with a decision. Returns whether this thread has the permit. */
    boolean serveRepeat() {
        RepeatedRequests.Found found = repeats.takeFound();
        if (found.verdict() == RepeatedRequests.Verdict.RESPONDED) {
            found.link().backlog().unserved().remove(found.index());
            return true;
        }
        PeerRequest request = readAgain(
                found.link(),
                found.index(),
                found.verdict() == RepeatedRequests.Verdict.RUN ? Delivered.FIRST : Delivered.AGAIN);
        found.link().backlog().unserved().remove(found.index());
        return request == null || serveOnce(request);
    }

    private boolean serveOnce(PeerRequest request) {
        return serveOnce(request, null);
    }

    /**
     * Serves a request after the access policies were asked; {@code left} is its former position among the undecided.
     */
    boolean serveOnce(PeerRequest request, ParkedRequests.Parked left) {
        boolean behind = left == null && !parking.isEmpty() && parking.has(AccessGate.UNDECIDED);
        AccessGate.Verdict verdict = gate.ask(request, behind);
        if (verdict == AccessGate.Verdict.WAITS) {
            parking.park(request, AccessGate.UNDECIDED, left);
        }
        if (verdict != AccessGate.Verdict.ALLOWED) {
            return verdict != AccessGate.Verdict.PERMIT_LOST;
        }
        if (!parking.isEmpty() && Route.isNamed(request.view())) {
            HandlerKey key = Route.key(lookup.registry().table(), request.view());
            boolean passes = request.isNested() && parking.isHeld(key);
            if (parking.has(key) && !passes) { // after the requests that came before it
                parking.park(request, key, null);
                return true;
            }
        }
        return serveNow(request, null);
    }

    /** Serves or parks a request; {@code left} is its former position in parking, or null. */
    boolean serveNow(PeerRequest request, ParkedRequests.Parked left) {
        RecordView view = request.view();
        long deadlineNs = view.deadlineNs();
        if (deadlineNs != 0 && time.nowNs(view) >= deadlineNs) {
            return refuseExpired(request, Failure.expired(view, clock, "a handler began"));
        }
        boolean isForEarlier = earlier.isFor(view);
        boolean isLeft = isForEarlier && isLeft(request);
        if (isForEarlier && !isLeft && !view.isAcrossIncarnations()) {
            return refuseExpired(request, earlier.lost(view, request.delivered()));
        }
        if (isForEarlier && earlier.isFromEarlierBoot(view)) {
            return refuseExpired(request, Failure.expiredAtBoot(view));
        }
        if (!responses.isComfortable()) {
            String text = "the request was not begun, because the journal's disk has no room for its response";
            request.response().refuse(ErrorCode.JOURNAL_FULL, text);
            return true;
        }
        sought.request = request;
        sought.mayHaveBegun = isForEarlier && !isLeft || request.delivered() == Delivered.AGAIN;
        HandlerSearch.Found found = search.find(sought);
        if (found == HandlerSearch.Found.WAITS) { // in the journal, after the requests that came before it
            parking.park(request, Route.key(lookup.tableFor(view), view), left);
        }
        return found != HandlerSearch.Found.COUNTED
                || begin(request, request.exchange().entry());
    }

    /** Refuses a request that no caller waits for any more, or that may have begun before. */
    private boolean refuseExpired(PeerRequest request, Failure why) {
        counters.countExpired();
        request.response().refuse(why);
        return true;
    }

    /** Request that seeks its handler, and the way in which the last handler found would run it. */
    private final class Sought implements HandlerSearch.Seeker {
        private PeerRequest request;
        private boolean mayHaveBegun; // whether a handler may have begun it in an earlier incarnation
        private boolean onPoller;
        private boolean here;

        @Override
        public Exchange exchange() {
            return request.exchange();
        }

        @Override
        public Failure refusal(HandlerEntry by) {
            if (!mayHaveBegun || by.delivery() == DeliveryPolicy.AT_LEAST_ONCE) {
                return null;
            }
            counters.countExpired();
            return earlier.lost(request.view(), request.delivered());
        }

        /** The request that has sent this one is in flight here if it is this worker's, and else another worker's. */
        @Override
        public HandlerEntry outer() {
            return request.isNested() ? pool.handlerOf(request.view().parent()) : null;
        }

        @Override
        public boolean hasThread(HandlerEntry by) {
            onPoller = by.runsOnPoller();
            here = !onPoller && handlers.mayRun(by);
            boolean mayNeedThread = !onPoller && !here || by.selects() != null;
            return !mayNeedThread || by.executor().hasRoom();
        }

        @Override
        public void refuse(Failure why) {
            request.response().refuse(why);
        }
    }

    /** Begins a request that its handler has counted. Returns whether this thread has the permit. */
    private boolean begin(PeerRequest request, HandlerEntry entry) {
        if (!admit(request, entry)) {
            entry.end(Outcome.FAILED);
            return true;
        }
        counters.countBegun();
        if (request.attachments().mustWait()) {
            request.runWhenReady();
            return true;
        }
        if (!sought.onPoller && !sought.here || request.attachments().isForDevice()) { // a converter may be slow
            return runElsewhere(request, entry);
        }
        return sought.here ? runPolled(request, entry) : runInline(request);
    }

    /**
     * Decodes a request's tensors and references, and numbers it. Returns whether that succeeded; otherwise its caller
     * gets an error.
     */
    private boolean admit(PeerRequest request, HandlerEntry entry) {
        try {
            ReceivedTensors tensors = request.view().tensorCount() == 0
                    ? null
                    : transit.receiver().arrive(request.view(), request.link().segments());
            request.admit(entry, ++sequence, tensors);
            if (request.view().hasReferences() || request.view().isCreation()) {
                request.takeReferences();
            }
            return true;
        } catch (MalformedRecordException e) {
            refuseDecoded(request, ErrorCode.MALFORMED_BODY, e.getMessage());
        } catch (RejectedMessageException e) {
            refuseDecoded(request, e.code(), e.getMessage());
        } catch (RuntimeException | Error e) { // it gets an outcome, whatever the cause
            LOG.error(
                    "Request {} could not be begun",
                    MessageId.text(request.view().id()),
                    e);
            refuseDecoded(request, ErrorCode.UNKNOWN, "the request could not be begun: " + ForeignErrors.describe(e));
        }
        return false;
    }

    private static void refuseDecoded(PeerRequest request, ErrorCode code, String text) {
        request.response().refuseDecoded(Failure.of(code, request.view().to(), text));
    }

    /**
     * Returns whether an earlier incarnation, which left in order, had not read the request, and left it to this one.
     */
    private boolean isLeft(PeerRequest request) {
        RecordView view = request.view();
        return request.delivered() == Delivered.FIRST
                && earlier.isContinued(view)
                && !request.link().isSelf() // its caller has left, too
                && !request.link().reader().hasLostPosition()
                && Route.mayBeLeft(view.typeCode())
                && !view.hasReferences()
                && !transit.hasLeases(view);
    }

    /** Sets the time after the poller read the clock. */
    void now(long bootNs) {
        time.now(bootNs);
        if (bootNs >= nextReleaseNs) {
            nextReleaseNs = bootNs + RELEASE_NS;
            reread.closeIdle();
        }
    }

    private boolean runInline(PeerRequest request) {
        permit.release();
        boolean free = request.runInline();
        return hasRun(request, free, !handlers.hasLeft() && permit.tryAcquire());
    }

    /** Runs a plain handler on this thread, which is its bundle's. */
    private boolean runPolled(PeerRequest request, HandlerEntry entry) {
        if (!handlers.begin(entry, request)) {
            return runElsewhere(request, entry);
        }
        HandlerSlot slot = handlers.enter(entry);
        boolean free;
        boolean pollsOn;
        try {
            free = request.runPolled(slot);
        } finally {
            pollsOn = handlers.leave(slot, entry);
        }
        return hasRun(request, free, pollsOn && permit.tryAcquire());
    }

    private boolean hasRun(PeerRequest request, boolean free, boolean mine) {
        if (free && mine && spare == null) { // another thread may have polled meanwhile, and left one
            spare = request;
        } else if (free) {
            pool.give(request);
        }
        return mine;
    }

    /** Returns the exchange that the last request left for reuse; null for none. */
    PeerRequest takeSpare() {
        PeerRequest left = spare;
        spare = null;
        return left;
    }

    private boolean runElsewhere(PeerRequest request, HandlerEntry entry) {
        if (request.queue()) {
            handlers.passedOn(entry);
        }
        return true;
    }

    /**
     * Returns the number of exchanges in use; at rest there is one at most, the next request's. Inexact while requests
     * are served.
     */
    public int exchangesHeld() {
        return pool.held();
    }

    /** Continues for a holder that lost the permit inside an access policy. */
    void takeOver() {
        gate.takeOver();
    }

    boolean hasParked() {
        return !leaving && !parking.isEmpty();
    }

    /** Requests a search for requests that need not wait any more. Called by any thread. */
    public void roomCame() {
        parking.roomCame();
    }

    /** Serves requests that waited; returns the number of requests that left parking, or {@link Polled#PERMIT_LOST}. */
    int unpark() {
        return parking.unpark(this);
    }

    /**
     * Serves the oldest request to which an earlier incarnation did not respond. Returns whether this thread has the
     * permit.
     */
    boolean serveUnanswered(PeerLink link) {
        PeerRequest request = readAgain(link, link.backlog().nextUnanswered(), Delivered.AGAIN);
        link.backlog().unansweredTaken();
        return request == null || serveOnce(request);
    }

    /** Reads a request again; null when it can't be read any more. */
    PeerRequest readAgain(PeerLink link, long index, Delivered delivered) {
        PeerRequest request = spare != null ? takeSpare() : pool.take();
        if (!reread.read(link, index, request.buffer())) {
            counters.countDamaged();
            LOG.error(
                    "A request of worker {} at position {}, which was read before, does not read any more: it has no response",
                    link,
                    Long.toHexString(index));
            pool.give(request);
            return null;
        }
        request.arrivedFrom(link, index, delivered);
        return request;
    }
}
