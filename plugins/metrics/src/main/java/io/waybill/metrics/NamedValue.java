package io.waybill.metrics;

/** Values that workers publish by name, with their metrics: counters without their {@code _total}. */
enum NamedValue {
    CALLS_SENT("calls.sent", "waybill_calls_sent", Kind.COUNTER, "Requests that were written."),
    RESPONSES("calls.responses", "waybill_calls_responses", Kind.COUNTER, "Responses that completed a call."),
    LATE(
            "calls.late-responses",
            "waybill_calls_late_responses",
            Kind.COUNTER,
            "Responses to calls that were completed before."),
    TIMEOUTS("calls.timeouts", "waybill_calls_timeouts", Kind.COUNTER, "Calls that timed out."),
    IN_FLIGHT("calls.in-flight", "waybill_calls_in_flight", Kind.GAUGE, "Calls without an outcome."),
    BEGUN("requests.begun", "waybill_requests_begun", Kind.COUNTER, "Requests for which a handler was called."),
    EXPIRED("requests.expired", "waybill_requests_expired", Kind.COUNTER, "Requests that came too late to be run."),
    PARKED("requests.parked-ever", "waybill_requests_parked_ever", Kind.COUNTER, "Requests that have been parked."),
    WORKER_IN_FLIGHT(
            "requests.in-flight",
            "waybill_worker_requests_in_flight",
            Kind.GAUGE,
            "Requests that were read and that a handler has."),
    WORKER_PARKED(
            "requests.parked",
            "waybill_worker_requests_parked",
            Kind.GAUGE,
            "Requests that were read and wait for a handler or a thread."),
    LAG("lag", "waybill_worker_lag_requests", Kind.GAUGE, "Requests of live workers that the worker has not read yet."),
    STUCK("requests.stuck", "waybill_requests_stuck", Kind.COUNTER, "Requests that were found stuck in a handler."),
    DAMAGED("damaged-records", "waybill_damaged_records", Kind.COUNTER, "Records of peers that were not whole."),
    LISTENERS("listener-errors", "waybill_listener_errors", Kind.COUNTER, "Listeners that threw."),
    PUBLISHING(
            "publishing-errors",
            "waybill_publishing_errors",
            Kind.COUNTER,
            "Steps that failed behind the append of a message."),
    PAUSES("pauses", "waybill_pauses", Kind.COUNTER, "Pauses of the process of more than a second."),
    LINKS("links", "waybill_links", Kind.GAUGE, "Links to other workers."),
    JOURNAL("journal.bytes", "waybill_journal_bytes", Kind.GAUGE, "Disk space of both queues and the archive."),
    SEGMENTS("tensors.segments", "waybill_tensor_segments", Kind.GAUGE, "Segment files."),
    SEGMENT_BYTES("tensors.segment-bytes", "waybill_tensor_segment_bytes", Kind.GAUGE, "Size of the segment files."),
    SEGMENTS_USED("tensors.used-bytes", "waybill_tensor_used_bytes", Kind.GAUGE, "Used bytes in segment files."),
    LEASES("tensors.leases", "waybill_tensor_leases", Kind.GAUGE, "Leases that peers have of this worker's segments."),
    LEASES_HELD(
            "tensors.leases-held",
            "waybill_tensor_leases_held",
            Kind.GAUGE,
            "Leases of peers' segments that this worker has."),
    ARCHIVE_USED("archive.used-bytes", "waybill_archive_used_bytes", Kind.GAUGE, "Size of the archive's files."),
    ARCHIVE_WAITING("archive.waiting-bytes", "waybill_archive_waiting_bytes", Kind.GAUGE, "Backlog of the archive."),
    ARCHIVE_STORAGES(
            "archive.waiting-storages", "waybill_archive_waiting_storages", Kind.GAUGE, "Storages in this backlog."),
    ARCHIVE_LAG(
            "archive.lag-ms", "waybill_archive_lag_seconds", Kind.GAUGE, "Age of the oldest storage in this backlog."),
    ARCHIVED("archive.archived-bytes", "waybill_archive_archived_bytes", Kind.COUNTER, "Bytes archived so far."),
    NOT_ARCHIVED(
            "archive.dropped", "waybill_archive_dropped_storages", Kind.COUNTER, "Storages that were not archived."),
    HEAP_USED("jvm.heap-used", "waybill_jvm_heap_used_bytes", Kind.GAUGE, "Used heap of the worker's JVM."),
    HEAP_COMMITTED(
            "jvm.heap-committed",
            "waybill_jvm_heap_committed_bytes",
            Kind.GAUGE,
            "Heap that the JVM has from the system."),
    HEAP_MAX("jvm.heap-max", "waybill_jvm_heap_max_bytes", Kind.GAUGE, "Max heap."),
    NON_HEAP(
            "jvm.non-heap-used", "waybill_jvm_non_heap_used_bytes", Kind.GAUGE, "Memory of classes and compiled code."),
    DIRECT("jvm.direct-used", "waybill_jvm_direct_used_bytes", Kind.GAUGE, "Direct buffers."),
    MAPPED("jvm.mapped-used", "waybill_jvm_mapped_used_bytes", Kind.GAUGE, "Mapped buffers."),
    COLLECTIONS("jvm.collections", "waybill_jvm_collections", Kind.COUNTER, "Garbage collections."),
    COLLECTING("jvm.collection-ms", "waybill_jvm_collection_seconds", Kind.COUNTER, "Time of garbage collections."),
    THREADS("jvm.threads", "waybill_jvm_threads", Kind.GAUGE, "Threads.");

    private final String key;
    private final String metric;
    private final Kind kind;
    private final String help;

    private enum Kind {
        COUNTER,
        GAUGE
    }

    NamedValue(String key, String metric, Kind kind, String help) {
        this.key = key;
        this.metric = metric;
        this.kind = kind;
        this.help = help;
    }

    /** Returns the name under which workers publish it. */
    String key() {
        return key;
    }

    String metric() {
        return metric;
    }

    String help() {
        return help;
    }

    boolean isCounter() {
        return kind == Kind.COUNTER;
    }

    /** Returns whether it is published in milliseconds, and exported in seconds. */
    boolean isInMs() {
        return key.endsWith("-ms");
    }
}
