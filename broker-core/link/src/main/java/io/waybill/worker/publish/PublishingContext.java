package io.waybill.worker.publish;

import io.waybill.api.WorkerInfo;
import io.waybill.handling.CallReports;
import io.waybill.host.Clock;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.TensorTransit;

/**
 * Dependencies that the writers of requests and of responses have in common.
 *
 * @param worker this worker
 * @param maxRecordBytes max size of a record, without its tensors in segments
 */
public record PublishingContext(
        WorkerInfo worker,
        Clock clock,
        TensorTransit transit,
        int maxRecordBytes,
        CallReports reports,
        WorkerCounters counters) {}
