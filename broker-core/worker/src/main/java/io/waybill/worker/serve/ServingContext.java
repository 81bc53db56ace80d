package io.waybill.worker.serve;

import io.waybill.api.Rpc;
import io.waybill.exchange.CallOrigin;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.InnerRequests;
import io.waybill.host.Clock;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.reference.WorkerReferences;

/** Dependencies of serving a request. */
record ServingContext(
        ExchangeContext exchanges,
        HandlerLookup lookup,
        InnerRequests inner,
        ResponseWriter responses,
        Calls calls,
        TensorTransit transit,
        HandlerSlots invocations,
        WorkerReferences references,
        FaultAlarm faults,
        WorkerCounters counters) {

    Clock clock() {
        return exchanges.clock();
    }

    /** Returns calls by operator or function, and references, on behalf of a request. */
    Rpc rpcFor(CallOrigin origin) {
        return new WorkerRpc(calls, references, origin);
    }
}
