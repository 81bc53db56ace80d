package io.waybill.worker.publish;

import io.waybill.journal.JournalFullException;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;

/**
 * Destination of composed records in place of the journal: the fault injection before it. Chosen once, when the worker
 * joins.
 *
 * <p><b>Threads.</b> {@link #put} and {@link #follow} under the lock of the appender.
 */
public interface RecordSender extends AutoCloseable {

    /** Result in place of a sequence: the record was kept, and is published later. */
    long KEPT = -1;

    /**
     * Publishes a record, or keeps a copy of it to publish later. When it throws, nothing was published or kept.
     *
     * @return the sequence of the record, or {@link #KEPT}
     */
    long put(MessageBuffer record, PeerLink to, long wallNs) throws JournalFullException;

    /** Publishes the records that follow the record that was put last. Its failures do not affect that record. */
    default void follow(MessageBuffer record, PeerLink to, long wallNs) throws JournalFullException {}

    /** Discards records that were kept. */
    @Override
    default void close() {}
}
