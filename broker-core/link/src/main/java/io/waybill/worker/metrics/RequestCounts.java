package io.waybill.worker.metrics;

import io.waybill.wire.RecordView;

/**
 * Counts one request at a time in the counts of its operation. A request is counted without a name until there is, was
 * or may be a handler for it: names come from peers, and any number of them must not use up the table.
 *
 * <p><b>Threads.</b> {@link #open}, {@link #name} and {@link #left} belong to the holder of the poll permit.
 */
public final class RequestCounts {

    private final OperationTable served;
    private final RecordView view;
    private int peerId;
    private String peer = "";
    private OperationCounts counts;

    public RequestCounts(OperationTable served, RecordView view) {
        this.served = served;
        this.view = view;
    }

    /** Counts a request that was read from a peer. */
    public void open(int fromId, String from) {
        peerId = fromId;
        peer = from;
        if (counts == null
                || !OperationTable.isOf(counts, view, fromId)) { // most often it is the operation of the last request
            counts = served.known(view, fromId, from);
        }
        counts.begun();
    }

    /** Counts the request by its name from now on. */
    public void name() {
        if (counts.isUnnamed() && OperationTable.isNamed(view)) {
            counts.left();
            counts = served.of(view, peerId, peer);
            counts.begun();
        }
    }

    /** Counts a request without an outcome here as no longer in flight: it is read again, or could not be read. */
    public void left() {
        counts.left();
    }

    /** Returns the counts of its operation. */
    public OperationCounts ofOperation() {
        return counts;
    }
}
