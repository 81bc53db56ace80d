package io.waybill.worker.serve;

import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerTable;
import io.waybill.handling.Failure;
import io.waybill.host.Clock;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.Polled;
import java.lang.ref.WeakReference;

/**
 * Parks requests whose handler, interceptor or access policy is away, and brings them back to the dispatcher once it
 * returned, or was away for too long.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit, except where stated.
 */
final class ParkingLot {

    /** Interval of the checks for expired requests. */
    private static final long CHECK_NS = 10_000_000;

    private final HandlerRegistry registry;
    private final Clock clock;
    private final ParkedRequests parked;
    private final AccessGate gate;
    private final Interceptors<HandlerInterceptor> interceptors;
    private final WorkerCounters counters;
    private WeakReference<HandlerTable> unparkedFor = new WeakReference<>(null); // its bundles may have left
    private long nextParkingCheckNs;
    private volatile boolean roomCame; // set by threads of handlers

    ParkingLot(ServingContext context, AccessGate gate, ParkedRequests parked) {
        this.registry = context.lookup().registry();
        this.clock = context.clock();
        this.parked = parked;
        this.gate = gate;
        this.interceptors = context.exchanges().interceptors();
        this.counters = context.counters();
    }

    AccessGate gate() {
        return gate;
    }

    boolean isEmpty() {
        return parked.isEmpty();
    }

    boolean has(HandlerKey key) {
        return parked.has(key);
    }

    /** Returns whether requests of a key wait for an interceptor that is being replaced. */
    boolean isHeld(HandlerKey key) {
        return interceptors.isAway(key);
    }

    /** Returns whether a request with this id waits. Searches all of them. */
    boolean hasId(long id) {
        return parked.hasId(id);
    }

    /**
     * Notes that the threads of a handler take more requests again, or that the policies changed. Called by any thread.
     */
    void roomCame() {
        roomCame = true;
    }

    /** Parks a request; a request that had left returns to its former position. */
    void park(PeerRequest request, HandlerKey key, ParkedRequests.Parked left) {
        if (left == null && parked.size() >= registry.parking().maxMessages()) {
            if (key == AccessGate.UNDECIDED) {
                gate.refuseUndecided(request, "too many requests wait already");
            } else {
                request.response().refuse(Failure.tooManyParked(request.view().to(), key, parked.size()));
            }
            return;
        }
        if (left != null) {
            parked.putBack(key, left);
            left.counts().parked();
        } else {
            request.counts().name();
            request.counts().ofOperation().parked();
            parked.add(
                    key,
                    new ParkedRequests.Parked(
                            request.link(),
                            request.index(),
                            request.view().id(),
                            clock.monotonicNs(),
                            request.delivered(),
                            request.counts().ofOperation()));
        }
        registry.countParked(key, 1);
        counters.countParked();
        request.leave();
        unparkedFor.clear();
    }

    /**
     * Serves parked requests after the handlers changed, and rejects expired ones.
     *
     * @return number of requests that left parking, or {@link Polled#PERMIT_LOST}
     */
    int unpark(RequestDispatcher by) {
        HandlerTable table = registry.table();
        long nowNs = clock.monotonicNs();
        if (unparkedFor.refersTo(table) && nowNs < nextParkingCheckNs && !roomCame) {
            return 0;
        }
        roomCame = false; // before the search
        // Due until the search is complete: a thread that loses the permit in it leaves some that can be served.
        nextParkingCheckNs = nowNs;
        int served = unparkUndecided(by, nowNs);
        if (served == Polled.PERMIT_LOST) {
            return served;
        }
        for (HandlerKey key : parked.keys()) {
            if (key == AccessGate.UNDECIDED) {
                continue;
            }
            HandlerEntry entry = table.forKey(table.deciding(key));
            boolean present = entry != null;
            boolean held = present && isHeld(key);
            boolean neverKnown = table.neverKnew(key); // parked while handlers were expected
            ParkedRequests.Parked parkedRequest = parked.first(key);
            while (parkedRequest != null
                    && (present && !held
                            ? entry.hasRoom()
                            : neverKnown
                                    || nowNs - parkedRequest.sinceNs()
                                            > registry.parking().maxDurationNs())) {
                served++;
                if (!leave(by, parkedRequest, key, present && !held)) {
                    return Polled.PERMIT_LOST;
                }
                if (present && registry.table() != table) {
                    return served; // it may have been removed again: look up again
                }
                ParkedRequests.Parked next = parked.first(key);
                parkedRequest = next == parkedRequest ? null : next; // not one that was parked again
            }
        }
        nextParkingCheckNs = nowNs + CHECK_NS;
        if (!unparkedFor.refersTo(table)) {
            unparkedFor = new WeakReference<>(table);
        }
        return served;
    }

    private int unparkUndecided(RequestDispatcher by, long nowNs) {
        int served = 0;
        long maxNs = registry.parking().maxDurationNs();
        ParkedRequests.Parked parkedRequest = parked.first(AccessGate.UNDECIDED);
        while (parkedRequest != null) {
            boolean open = gate.isOpen(); // once: it may change at any time
            if (!open && nowNs - parkedRequest.sinceNs() <= maxNs) {
                break;
            }
            served++;
            PeerRequest request = leave(by, parkedRequest, AccessGate.UNDECIDED);
            if (request != null && !open) {
                gate.refuseUndecided(request, "did not return within " + maxNs / 1_000_000 + " ms");
            } else if (request != null && !by.serveOnce(request, parkedRequest)) {
                return Polled.PERMIT_LOST;
            }
            parkedRequest = parked.first(AccessGate.UNDECIDED);
        }
        return served;
    }

    private PeerRequest leave(RequestDispatcher by, ParkedRequests.Parked parkedRequest, HandlerKey key) {
        PeerRequest request = by.readAgain(parkedRequest.link(), parkedRequest.index(), parkedRequest.delivered());
        if (request != null) {
            request.times().parkedSinceNs = parkedRequest.sinceNs();
        }
        parkedRequest.counts().unparked();
        parked.removeFirst(key); // in flight now
        registry.countParked(key, -1);
        return request;
    }

    /** @param ready whether the handler and its interceptors are there */
    private boolean leave(RequestDispatcher by, ParkedRequests.Parked parkedRequest, HandlerKey key, boolean ready) {
        PeerRequest request = leave(by, parkedRequest, key);
        if (request == null) {
            return true;
        }
        if (ready || registry.table().neverKnew(key)) {
            long before = parked.size();
            boolean mine = by.serveNow(request, parkedRequest);
            if (mine && parked.size() > before) {
                parked.countParkedAgain();
            }
            return mine;
        }
        request.response()
                .refuse(Failure.parkedTooLong(
                        request.view().to(), key, registry.parking().maxDurationNs()));
        return true;
    }
}
