package io.waybill.replay.recording;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.query.MessageFilter;
import io.waybill.wire.RecordView;

/**
 * A request that was read before its response. Immutable.
 *
 * @param message null when it is not wanted
 * @param epoch of its receiver's incarnation that it was sent to
 * @param isAcrossIncarnations whether a later incarnation might run it as well
 */
record PendingRequest(long id, RecordedMessage message, long epoch, boolean isAcrossIncarnations, long sentNs) {

    /** A request that is not wanted, by its header. */
    static PendingRequest unwanted(RecordView header) {
        return new PendingRequest(header.id(), null, header.epoch(), header.isAcrossIncarnations(), header.sentNs());
    }

    /** A request whose header the filter takes. */
    static PendingRequest of(WorkerInfo caller, String fileName, RecordView whole, MessageFilter filter) {
        RecordedMessage message = filter.takesOperationOf(whole)
                ? RecordedMessage.copy(caller, JournalQueue.REQUESTS, fileName, whole)
                : null;
        return new PendingRequest(whole.id(), message, whole.epoch(), whole.isAcrossIncarnations(), whole.sentNs());
    }

    boolean isWanted() {
        return message != null;
    }

    /** Approximate size in memory. */
    int bytes() {
        return message == null ? 0 : message.record().length;
    }
}
