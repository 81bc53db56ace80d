package io.waybill.replay.recording;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.function.Consumer;

/** Reads the headers of a queue's records, oldest first. Skips damage, and reports it. One thread. */
final class QueueScan implements Closeable {

    private final QueueReader reader;
    private final Consumer<String> problems;
    private boolean searchedBehindEnd;

    QueueScan(StoredJournals journals, StoredJournal journal, JournalQueue queue, Consumer<String> problems) {
        this.reader = journal.read(queue, journals.host());
        this.problems = problems;
    }

    /** Creates a scan that skips damage without reporting it. */
    static QueueScan quiet(StoredJournals journals, StoredJournal journal, JournalQueue queue) {
        return new QueueScan(journals, journal, queue, damage -> {});
    }

    /** Moves to the next record. Returns false at the present end of the queue. */
    boolean next() throws IOException {
        while (true) {
            Step step = reader.skim();
            if (step == Step.RECORD) {
                return true;
            }
            if (step == Step.END) {
                searchedBehindEnd = searchedBehindEnd || reader.searchBehindEnd() == Step.END;
                if (searchedBehindEnd) {
                    return false;
                }
            }
            problems.accept(reader.damage().toString());
        }
    }

    /**
     * Returns the header of the record; the whole record after {@link #isWhole} and {@link #complete}. Before that, its
     * content is unchecked.
     */
    RecordView record() {
        return reader.record();
    }

    /** Reads and checks the rest of the record. */
    boolean isWhole() throws IOException {
        return reader.complete();
    }

    /** Reads and checks the rest of the record, and reports damage. */
    boolean complete() throws IOException {
        boolean isWhole = reader.complete();
        if (!isWhole) {
            problems.accept(reader.damage().toString());
        }
        return isWhole;
    }

    RecordPosition position() {
        return reader.position();
    }

    String fileName() {
        return reader.fileName();
    }

    /** Reads the whole record of a message at a position. Returns false if it is not there. */
    boolean moveTo(RecordPosition position, long id) throws IOException {
        return reader.moveTo(position)
                && reader.next() == Step.RECORD
                && reader.offset() == position.offset()
                && reader.record().id() == id;
    }

    @Override
    public void close() {
        reader.close();
    }
}
