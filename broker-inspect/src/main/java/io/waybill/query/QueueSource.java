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
    private final QueueReader headers;
    private final QueueReader whole;
    private boolean lookedBehindEnd;

    QueueSource(StoredJournal journal, JournalQueue queue, Host host) {
        this.journal = journal;
        this.queue = queue;
        this.headers = journal.read(queue, host);
        this.whole = journal.read(queue, host);
    }

    /** Reads the next header, unchecked; false when there is none. Damage is skipped: {@code verify} reports it. */
    boolean next() throws IOException {
        while (true) {
            Step step = headers.skim();
            if (step == Step.RECORD) {
                return true;
            }
            if (step == Step.END) {
                if (lookedBehindEnd) {
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

    /** Reads the whole record at a position; empty when it is damaged. */
    Optional<RecordView> read(RecordPosition position) throws IOException {
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
        whole.close();
    }
}
