package io.waybill.worker.serve;

import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.exchange.HandlerLookup;
import io.waybill.host.Clock;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.HandlerPolling;

/**
 * Dependencies of the dispatch of requests.
 *
 * @param handlers whose threads may poll
 * @param open requests that handlers have begun
 * @param parking requests that wait for a handler, an interceptor or a policy
 */
public record DispatchContext(
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
