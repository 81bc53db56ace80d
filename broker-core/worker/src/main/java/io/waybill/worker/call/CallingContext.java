package io.waybill.worker.call;

import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.Deadlines;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingContext;

/**
 * Dependencies of making calls and completing them.
 *
 * @param returns peers that have ended, and whose calls may be completed by their next incarnations
 * @param delivery of outcomes to their listeners
 */
public record CallingContext(
        PublishingContext publishing,
        CallSettings settings,
        PendingCalls pending,
        Poller poller,
        WaitingCallers waiting,
        Deadlines deadlines,
        AwaitedReturns returns,
        OutcomeDelivery delivery) {

    TensorTransit transit() {
        return publishing.transit();
    }

    WorkerCounters counters() {
        return publishing.counters();
    }
}
