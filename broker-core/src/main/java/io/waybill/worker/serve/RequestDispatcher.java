package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.dispatch.Outcome;
import io.waybill.exchange.HandlerLookup;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Clock;
import io.waybill.intercept.Interceptors;
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
 * Dispatches requests to their handlers: at once, on the bundle's threads, or, without a handler, after parking.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}, released while a non-blocking handler runs.
 */
public final class RequestDispatcher {

    private static final Logger LOG = LoggerFactory.getLogger(RequestDispatcher.class);
    private static final long RELEASE_NS = 1_000_000_000;

    private final HandlerLookup lookup;
    private final Clock clock;
    private final PollPermit permit;
    private final HandlerPolling handlers;
    private final RequestPool pool;
    private final Refusals refusals;
    private final RequestClock time;
    private final Admission admission;
    private final AccessGate gate;
    private final WorkerCounters counters;
    private final ParkingLot parking;
    private final RereadTails reread;
    private final TensorTransit transit;
    private final ResponseWriter responses;
    private final PreviousIncarnation earlier;
    private final RepeatedRequests repeats;
    private final OpenRequests open;
    private long nextReleaseNs;
    private volatile boolean leaving; // set by the thread that closes the worker
    private PeerRequest spare;

    /**
     * Dependencies of the dispatch of requests.
     *
     * @param handlers whose threads may poll
     */
    public record Context(
            HandlerLookup lookup,
            Clock clock,
            HandlerPolling handlers,
            TensorTransit transit,
            ResponseWriter responses,
            OpenRequests open,
            ParkedRequests parking,
            AccessGate gate,
            Interceptors<HandlerInterceptor> interceptors,
            WorkerCounters counters) {}

    public RequestDispatcher(
            Context context,
            RequestPool pool,
            RereadTails reread,
            PreviousIncarnation earlier,
            RepeatedRequests repeats) {
        this.lookup = context.lookup();
        this.clock = context.clock();
        this.handlers = context.handlers();
        this.permit = handlers.permit();
        this.pool = pool;
        this.counters = context.counters();
        this.refusals = new Refusals(counters);
        this.responses = context.responses();
        this.time = new RequestClock(clock, responses);
        this.transit = context.transit();
        this.admission = new Admission(transit);
        this.reread = reread;
        this.earlier = earlier;
        this.repeats = repeats;
        this.open = context.open();
        this.parking = new ParkingLot(context, refusals);
        this.gate = context.gate();
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
            refusals.tooManyRepeats(request);
            return;
        }
        PeerLink link = request.link();
        long index = request.index();
        long id = request.view().id();
        transit.discard(request.view(), link); // a request with leased tensors is not sent again
        request.leave();
        if (!repeats.has(id) && !parking.hasId(id) && !open.has(id)) {
            repeats.add(link, index, id);
        }
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

    /** Serves a request after the access policies were asked; {@code left} is its former position among the undecided. */
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
            if (parking.has(key) && !passes) { // after those that came before it
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
            refusals.expired(request, Failure.expired(view, clock, "a handler began"));
            return true;
        }
        boolean isForEarlier = earlier.isFor(view);
        boolean isLeft = isForEarlier && isLeft(request);
        if (isForEarlier && !isLeft && !view.isAcrossIncarnations()) {
            refusals.lost(request, earlier.epoch());
            return true;
        }
        if (isForEarlier && earlier.isFromEarlierBoot(view)) {
            refusals.expired(request, Failure.expiredAtBoot(view));
            return true;
        }
        if (!responses.isComfortable()) {
            refusals.noRoomForResponse(request);
            return true;
        }
        while (true) {
            HandlerTable table = lookup.tableFor(view);
            HandlerEntry entry = Route.find(table, view);
            if (entry == null) {
                absent(table, request, left);
                return true;
            }
            boolean mayHaveBegun = isForEarlier && !isLeft || request.delivered() == Delivered.AGAIN;
            if (mayHaveBegun && entry.delivery() != DeliveryPolicy.AT_LEAST_ONCE) {
                refusals.lost(request, earlier.epoch());
                return true;
            }
            if (entry.isOutOfService()) {
                refusals.outOfService(request, entry);
                return true;
            }
            boolean onPoller = entry.runsOnPoller();
            boolean here = !onPoller && handlers.mayRun(entry);
            boolean mayNeedThread = !onPoller && !here || entry.selects() != null;
            if (mayNeedThread
                    && !entry.executor().hasRoom()) { // it waits in the journal, after those that came before it
                parking.park(request, Route.key(table, view), left);
                return true;
            }
            if (!request.exchange().openInterception()) {
                parking.park(request, Route.key(table, view), left);
                return true;
            }
            if (entry.begin()) {
                if (!admission.admit(request, entry)) {
                    entry.end(Outcome.FAILED);
                    return true;
                }
                counters.countBegun();
                if (request.attachments().mustWait()) {
                    request.runWhenReady();
                    return true;
                }
                if (!onPoller && !here || request.attachments().isForDevice()) { // a converter may be slow
                    return runElsewhere(request, entry);
                }
                return here ? runPolled(request, entry) : runInline(request);
            }
            request.exchange().endInterception();
            handlers.threads().spin(); // withdrawn between lookup and begin: the new table follows
        }
    }

    /** Returns whether an earlier incarnation, which left in order, had not read the request, and left it to this one. */
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
        if (!entry.executor().polled().begin(request)) {
            return runElsewhere(request, entry);
        }
        HandlerSlot slot = handlers.enter();
        permit.release();
        boolean free;
        boolean pollsOn;
        try {
            free = request.runPolled(slot);
        } finally {
            pollsOn = handlers.leave(slot, entry);
        }
        return hasRun(request, free, pollsOn && permit.tryAcquire());
    }

    /** Returns whether the next requests may wait for a thread that polls for them: see {@link HandlerPolling}. */
    boolean isLeaderExpected() {
        return handlers.isExpected();
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
        try {
            request.queue();
            handlers.passedOn(entry);
        } catch (ExecutorRefusedException e) {
            request.response()
                    .refuseDecoded(
                            Failure.of(ErrorCode.BACK_PRESSURE, request.view().to(), e.getMessage()));
            entry.end(Outcome.FAILED);
        }
        return true;
    }

    void absent(HandlerTable table, PeerRequest request, ParkedRequests.Parked left) {
        RecordView view = request.view();
        if (!Route.isNamed(view)) {
            refusals.unnamed(request);
        } else if (Route.absence(table, view) == Absence.LEFT) {
            parking.park(request, Route.key(table, view), left);
        } else {
            HandlerKey key = Route.key(table, view);
            refusals.unknown(request, key, table);
        }
    }

    /** Returns how many exchanges are in use; at rest there is one at most, the next request's. Inexact while requests are served. */
    public int exchangesHeld() {
        return pool.held();
    }

    /** Takes over from a holder that lost the permit inside an access policy. */
    void takeOver() {
        gate.takeOver();
    }

    boolean hasParked() {
        return !leaving && !parking.isEmpty();
    }

    /** Looks for requests that need not wait any more. Called by any thread. */
    public void roomCame() {
        parking.roomCame();
    }

    /** Serves what waited; returns how many requests left parking, or {@link Polled#PERMIT_LOST}. */
    int unpark() {
        return parking.unpark(this);
    }

    /** Serves the oldest request without a response from before. Returns whether this thread has the permit. */
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
