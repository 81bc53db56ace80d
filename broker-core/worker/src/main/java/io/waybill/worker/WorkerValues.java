package io.waybill.worker;

import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveStatus;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.QueueFiles;
import io.waybill.tensor.segment.SegmentPool;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.PeerLink;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Gauges and counters of a worker by name, apart from those of its operations. {@code docs/reference/metrics-file.md}
 * lists them.
 *
 * <p><b>Threads.</b> Belongs to the thread that publishes them.
 */
final class WorkerValues implements Supplier<Map<String, Long>> {

    private static final long FILES_NS = 10_000_000_000L;

    private final WorkerParts parts;
    private long journalBytes;
    private long nextFilesNs;

    WorkerValues(WorkerParts parts) {
        this.parts = parts;
        this.nextFilesNs = parts.host.clock().monotonicNs();
    }

    @Override
    public Map<String, Long> get() {
        Map<String, Long> values = new HashMap<>(parts.brokers.counts());
        values.putAll(parts.brokers.gauges());
        putCounters(values);
        values.put("links", (long) parts.links.current().length);
        values.put("calls.in-flight", callsInFlight());
        values.put("journal.bytes", journalBytes());
        SegmentPool pool = parts.transit.pool();
        values.put("tensors.segments", (long) pool.segmentCount());
        values.put("tensors.segment-bytes", pool.totalBytes());
        values.put("tensors.used-bytes", pool.usedBytes());
        parts.transit.sender().reclaim(); // otherwise released leases count until memory runs short
        values.put("tensors.leases", parts.transit.sender().leases());
        values.put("tensors.leases-held", (long) parts.transit.receiver().leasesHeld());
        ArchiveStatus archive = parts.archive.status();
        if (archive.policy() != ArchivePolicy.NONE) {
            values.put("archive.used-bytes", archive.usedBytes());
            values.put("archive.waiting-bytes", archive.waitingBytes());
            values.put("archive.waiting-storages", archive.waitingStorages());
            values.put("archive.lag-ms", archive.lagMs());
            values.put("archive.archived-bytes", archive.archivedBytes());
            values.put("archive.dropped", archive.droppedStorages());
        }
        return values;
    }

    /**
     * Returns the number of calls in flight as the links count them: scanning all slots for calls takes a millisecond
     * in a worker that has used them.
     */
    private long callsInFlight() {
        long calls = parts.calling.repeated.size();
        for (PeerLink link : parts.links.current()) {
            calls += link.flow().inFlight();
        }
        return calls;
    }

    private void putCounters(Map<String, Long> values) {
        WorkerCounters counters = parts.counters;
        values.put("calls.sent", counters.callsSent());
        values.put("calls.responses", counters.responses());
        values.put("calls.late-responses", counters.lateResponses());
        values.put("calls.timeouts", counters.timeouts());
        values.put("requests.begun", counters.requestsBegun());
        values.put("requests.expired", counters.requestsExpired());
        values.put("requests.parked-ever", counters.requestsParked());
        values.put("requests.stuck", counters.requestsStuck());
        values.put("damaged-records", counters.damagedRecords());
        values.put("listener-errors", counters.listenerErrors());
        values.put("publishing-errors", counters.publishingErrors());
        values.put("pauses", counters.pauses());
    }

    /** Returns the disk space of the queue files and their archives, measured every ten seconds. */
    private long journalBytes() {
        long nowNs = parts.host.clock().monotonicNs();
        if (nowNs - nextFilesNs >= 0) {
            nextFilesNs = nowNs + FILES_NS;
            try {
                long bytes = 0;
                for (JournalQueue queue : JournalQueue.values()) {
                    bytes += new QueueFiles(parts.directory.path(), queue, parts.host.files())
                            .list().stream().mapToLong(file -> file.bytes()).sum();
                }
                journalBytes = bytes;
            } catch (IOException e) { // it is measured again
                return journalBytes;
            }
        }
        return journalBytes;
    }
}
