package io.waybill.worker.call;

import io.waybill.journal.JournalFullException;
import io.waybill.journal.append.Journal;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;

/**
 * Destination of composed requests: the journal, or the fault injection in front of it. Chosen once, when the worker
 * joins.
 */
public interface RequestSender extends AutoCloseable {

    /**
     * Sends a request whose call waits for its response. Under the lock of the requests' appender.
     *
     * @throws InjectedFailure when a failure of this request is injected; nothing was written
     */
    void put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException;

    /** Discards requests that were not written yet. */
    @Override
    void close();

    /** Returns a sender that appends to the journal. */
    static RequestSender into(Journal journal) {
        return new IntoJournal(journal);
    }

    /** Sender that appends each request at once. */
    record IntoJournal(Journal journal) implements RequestSender {
        @Override
        public void put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException {
            journal.append(request, wallNs);
        }

        @Override
        public void close() {}
    }
}
