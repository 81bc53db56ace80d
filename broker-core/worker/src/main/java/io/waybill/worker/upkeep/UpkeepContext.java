package io.waybill.worker.upkeep;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.Links;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.QueueAppender;

/**
 * Dependencies of background maintenance: the worker that it maintains.
 *
 * @param journal settings of both queues
 * @param requests the appender of this worker's requests, as is {@code responses} of its responses
 */
public record UpkeepContext(
        WorkerDirectory directory,
        JournalSettings journal,
        HandlerRegistry registry,
        Links links,
        PendingCalls pending,
        Poller poller,
        WaitingCallers waiting,
        FaultAlarm faults,
        QueueAppender requests,
        QueueAppender responses,
        WorkerCounters counters) {

    Host host() {
        return directory.home().host();
    }

    Clock clock() {
        return host().clock();
    }
}
