package io.waybill.worker.call;

import io.waybill.journal.JournalFullException;
import io.waybill.journal.append.Journal;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;

/** Where requests go that are composed: into the journal, unless faults are injected. Chosen once, when the worker joins. */
public interface RequestSender extends AutoCloseable {

    /**
     * Takes a request whose call waits for its response. Under the request lane's lock.
     *
     * @throws InjectedFailure when it fails because that was asked for; nothing was written
     */
    void put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException;

    /** What was not written yet never will be. */
    @Override
    void close();

    /** Into the journal. */
    static RequestSender into(Journal journal) {
        return new IntoJournal(journal);
    }

    /** Writes each at once. */
    record IntoJournal(Journal journal) implements RequestSender {
        @Override
        public void put(MessageBuffer request, PeerLink link, long wallNs) throws JournalFullException {
            journal.append(request, wallNs);
        }

        @Override
        public void close() {}
    }
}
