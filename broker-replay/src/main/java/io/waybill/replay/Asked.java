package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.query.MessageFilter;
import io.waybill.wire.RecordView;

/**
 * A request that was read before its answer. Immutable.
 *
 * @param message null when it is not wanted
 * @param generation which life of its receiver it was for
 * @param isAcrossLives whether a later life might run it as well
 */
record Asked(long id, RecordedMessage message, long generation, boolean isAcrossLives, long sentNs) {

    /** One that is not wanted, by its header. */
    static Asked unwanted(RecordView header) {
        return new Asked(header.id(), null, header.generation(), header.isAcrossLives(), header.sentNs());
    }

    /** One whose header the filter takes. */
    static Asked of(WorkerInfo caller, String fileName, RecordView whole, MessageFilter filter) {
        return filter.takesOperationOf(whole)
                ? new Asked(
                        whole.id(),
                        RecordedMessage.copy(caller, JournalQueue.REQUESTS, fileName, whole),
                        whole.generation(),
                        whole.isAcrossLives(),
                        whole.sentNs())
                : unwanted(whole);
    }

    boolean isWanted() {
        return message != null;
    }

    /** What it takes of memory, about. */
    int bytes() {
        return message == null ? 0 : message.record().length;
    }
}
