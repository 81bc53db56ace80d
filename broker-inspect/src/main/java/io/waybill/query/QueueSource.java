package io.waybill.query;

import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredRecord;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.Optional;

/** Reader of the headers of one queue in order, with a second reader for whole records. One thread at a time. */
final class QueueSource implements Closeable {

    private final StoredJournal journal;
    private final JournalQueue queue;
    private final Host host;
    private final QueueReader headers;
    private QueueReader whole; // null before its first use: a home may have thousands of queues
    private boolean lookedBehindEnd;

    private QueueSource(StoredJournal journal, JournalQueue queue, Host host, QueueReader headers) {
        this.journal = journal;
        this.queue = queue;
        this.host = host;
        this.headers = headers;
    }

    /** Creates a source of the present files. */
    static QueueSource ofPresent(StoredJournal journal, JournalQueue queue, Host host) throws IOException {
        return new QueueSource(journal, queue, host, journal.readPresent(queue, host));
    }

    /** Creates a source that also reads records that are appended later. */
    static QueueSource following(StoredJournal journal, JournalQueue queue, Host host) {
        return new QueueSource(journal, queue, host, journal.read(queue, host));
    }

    /** Sets the size of a read, for one queue of many. */
    void readAhead(int maxBytes) {
        headers.readAhead(maxBytes);
    }

    /** Reads the next header, unchecked; false if there is none. Damage is skipped: {@code verify} reports it. */
    boolean next() throws IOException {
        while (true) {
            Step step = headers.skim();
            if (step == Step.RECORD) {
                return true;
            }
            if (step == Step.END) {
                if (lookedBehindEnd) {
                    headers.rest();
                    return false;
                }
                lookedBehindEnd = headers.searchBehindEnd() == Step.END;
            }
        }
    }

    RecordView header() {
        return headers.record();
    }

    RecordPosition position() {
        return headers.position();
    }

    /** Reads the whole record at a position; empty if it is damaged. */
    Optional<RecordView> read(RecordPosition position) throws IOException {
        if (whole == null) {
            whole = journal.read(queue, host);
        }
        return whole.moveTo(position) && whole.next() == Step.RECORD && whole.offset() == position.offset()
                ? Optional.of(whole.record())
                : Optional.empty();
    }

    StoredRecord store(RecordPosition position, RecordView record) {
        return StoredRecord.of(journal.info(), queue, position, record);
    }

    StoredJournal journal() {
        return journal;
    }

    JournalQueue queue() {
        return queue;
    }

    @Override
    public void close() {
        headers.close();
        if (whole != null) {
            whole.close();
        }
    }
}
