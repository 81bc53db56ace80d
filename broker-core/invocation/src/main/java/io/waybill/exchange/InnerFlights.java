package io.waybill.exchange;

import io.waybill.api.ErrorCode;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Clock;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Table of inner messages that another thread than the dispatching one ends: messages whose handler runs elsewhere or
 * has deferred its response, and messages that wait for a handler, a policy or a thread while no thread waits for them.
 *
 * <p><b>Threads.</b> Any; {@link #look} by the housekeeper.
 */
final class InnerFlights {

    private final InnerRequests home;
    private final HandlerRegistry registry;
    private final Clock clock;
    private final StuckSettings stuck;
    private final Map<Long, Flight> running = new ConcurrentHashMap<>(); // by number
    private final Map<Long, Flight> waiting = new ConcurrentHashMap<>(); // by number

    /** Use of a request object. */
    private record Flight(InnerRequest request, long number, long sinceNs, long deadlineNs) {}

    InnerFlights(InnerRequests home, HandlerRegistry registry, Clock clock, StuckSettings stuck) {
        this.home = home;
        this.registry = registry;
        this.clock = clock;
        this.stuck = stuck;
    }

    private Flight flight(InnerRequest request, long number) {
        return new Flight(request, number, clock.monotonicNs(), request.deadlineNs());
    }

    /** Keeps a request that has to wait, and whose dispatching thread does not. */
    void park(InnerRequest request, long number) {
        waiting.put(number, flight(request, number));
    }

    /** Keeps a request that another thread ends, unless it has ended. */
    void track(InnerRequest request, long number) {
        running.put(number, flight(request, number));
        if (!request.exchange().isOpen(number)) { // ended already; its object may serve another request
            running.remove(number);
        }
    }

    /** Forgets a request whose handler ended. */
    void ended(long number) {
        if (!running.isEmpty()) {
            running.remove(number);
        }
    }

    /** Completes due requests, and begins waiting ones. */
    void look() {
        for (Flight flight : waiting.values()) {
            if (waiting.remove(flight.number()) != null) {
                lookAtWaiting(flight);
            }
        }
        for (Flight flight : running.values()) {
            lookAtRunning(flight);
        }
    }

    private void lookAtWaiting(Flight flight) {
        InnerRequest request = flight.request();
        AccessPolicies.Required policies = registry.policies().current();
        if (policies == null || request.isAllowed()) {
            begin(flight, policies);
        } else if (request.exchange().isExpired()) {
            request.refuse(Failure.expired(request.view(), clock, "a handler began"));
        } else if (!policies.isComplete() || !passOn(flight)) {
            waitOn(flight);
        }
    }

    private void begin(Flight flight, AccessPolicies.Required policies) {
        if (home.begin(flight.request(), home.context().stacks().get(), policies)) {
            track(flight.request(), flight.number());
        } else {
            waitOn(flight);
        }
    }

    private void waitOn(Flight flight) {
        if (isTooLong(flight.sinceNs())) {
            flight.request().refuse(waitedTooLong(flight.request()));
        } else {
            waiting.put(flight.number(), flight);
        }
    }

    /**
     * Passes a request to the threads of the dispatching bundle, because a policy may not return. Returns whether they
     * accept it.
     */
    private boolean passOn(Flight flight) {
        try {
            flight.request().outerEntry().executor().execute(new HandlerExecutor.Abandonable() {
                @Override
                public void run() {
                    begin(flight, registry.policies().current());
                }

                @Override
                public void abandoned() {
                    String text = "the bundle that dispatched it left";
                    flight.request().refuse(home.failure(ErrorCode.HANDLER_GONE, text));
                }
            });
            return true;
        } catch (ExecutorRefusedException e) { // no room, or the bundle left: the parking limit ends it
            return false;
        }
    }

    private void lookAtRunning(Flight flight) {
        InnerRequest request = flight.request();
        if (!request.exchange().isOpen(flight.number())) {
            running.remove(flight.number());
            return;
        }
        HandlerEntry entry = request.exchange().entry();
        long overdueNs = flight.deadlineNs() == 0 ? -1 : clock.bootNs() - flight.deadlineNs();
        if (overdueNs >= 0) {
            request.outcome().expire(flight.number());
        }
        boolean isLost = isDeferred(request) && overdueNs >= stuck.afterNs();
        if (isLost || entry != null && entry.isGivenUp()) {
            request.exchange().abandon(flight.number());
        }
    }

    /** Returns whether only a deferred response is missing. */
    private static boolean isDeferred(InnerRequest request) {
        DeferredResponse late = request.exchange().late();
        return late != null && late.isAwaited();
    }

    /** Returns whether a request has waited for longer than requests park. */
    boolean isTooLong(long sinceNs) {
        return clock.monotonicNs() - sinceNs > registry.parking().maxDurationNs();
    }

    /** Creates the error of a request that has waited for too long. */
    Failure waitedTooLong(InnerRequest request) {
        long maxNs = registry.parking().maxDurationNs();
        AccessPolicies.Required policies = registry.policies().current();
        if (policies != null && !policies.isComplete()) {
            String text = "the access policy of " + policies.away() + " is away, and did not return within "
                    + maxNs / 1_000_000 + " ms";
            return home.failure(ErrorCode.ACCESS_DENIED, text);
        }
        return Failure.waitedTooLong(home.context().workerId(), Route.key(registry.table(), request.view()), maxNs);
    }
}
