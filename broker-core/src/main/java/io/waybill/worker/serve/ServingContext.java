package io.waybill.worker.serve;

import io.waybill.api.Rpc;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.handling.CallReports;
import io.waybill.host.Clock;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.inner.InnerRequests;
import io.waybill.worker.metrics.OperationTable;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.CallOrigin;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.reference.WorkerReferences;

/** Dependencies of serving a request. */
public record ServingContext(
        Clock clock,
        ResponseWriter responses,
        Calls calls,
        TensorTransit transit,
        HandlerSlots invocations,
        WorkerReferences references,
        FaultAlarm faults,
        HandlerErrorLog handlerErrors,
        Interceptors<HandlerInterceptor> interceptors,
        InnerRequests inner,
        OperationTable served,
        CallReports reports) {

    /** Returns calls by operator or function, and references, on behalf of a request. */
    Rpc rpcFor(CallOrigin origin) {
        return new WorkerRpc(calls, references, origin);
    }
}
