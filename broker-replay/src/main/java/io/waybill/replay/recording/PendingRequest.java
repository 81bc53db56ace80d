package io.waybill.replay.recording;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.query.MessageFilter;
import io.waybill.wire.RecordView;

/**
 * A request that was read before its response. Immutable.
 *
 * @param message null if it is not wanted
 * @param epoch epoch of the receiver's incarnation that it was sent to
 * @param isAcrossIncarnations whether a later incarnation may run it as well
 */
record PendingRequest(long id, RecordedMessage message, long epoch, boolean isAcrossIncarnations, long sentNs) {

    /** Creates an unwanted request from its header. */
    static PendingRequest unwanted(RecordView header) {
        return new PendingRequest(header.id(), null, header.epoch(), header.isAcrossIncarnations(), header.sentNs());
    }

    /** Creates a request whose header matches the filter. */
    static PendingRequest of(WorkerInfo caller, String fileName, RecordView whole, MessageFilter filter) {
        RecordedMessage message = filter.takesOperationOf(whole)
                ? RecordedMessage.copy(caller, JournalQueue.REQUESTS, fileName, whole)
                : null;
        return new PendingRequest(whole.id(), message, whole.epoch(), whole.isAcrossIncarnations(), whole.sentNs());
    }

    boolean isWanted() {
        return message != null;
    }

    /** Returns the approximate size in memory. */
    int bytes() {
        return message == null ? 0 : message.record().length;
    }
}
