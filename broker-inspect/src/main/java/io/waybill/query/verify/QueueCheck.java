package io.waybill.query.verify;

import io.waybill.api.MessageId;
import io.waybill.host.Host;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.journal.recover.QueueExtent;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.verify.Finding.Kind;
import io.waybill.query.verify.Finding.Severity;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Reads a queue record by record, and checks it separately: checksums, numbers, owner. Can be continued after the
 * writer has appended. One thread at a time.
 */
final class QueueCheck implements Closeable {

    private static final int PROGRESS_RECORDS = 1 << 16;
    private static final long NONE = -1;

    private final StoredJournal journal;
    private final JournalQueue queue;
    private final Path directory;
    private final QueueReader reader;
    private final Consumer<Finding> findings;
    private final LongConsumer progress;
    private final LostRecords lost;
    private boolean lookedBehindEnd;
    private long records;
    private long lastSequence = NONE;
    private long firstSequence = NONE;
    private long lastCounter = NONE;
    private long lastId;
    private long missing;
    private RecordPosition last; // null: none
    private Damage unexplained; // damage since the last record; null: none

    QueueCheck(
            StoredJournal journal, JournalQueue queue, Host host, Consumer<Finding> findings, LongConsumer progress) {
        this.journal = journal;
        this.queue = queue;
        this.directory = queue.in(journal.path());
        this.reader = journal.read(queue, host);
        this.findings = findings;
        this.progress = progress;
        this.lost = LostRecords.read(journal.path(), host.files());
    }

    /** Returns whether records were lost before this journal was copied to this home. */
    boolean knowsOfLost() {
        return !lost.isEmpty(queue);
    }

    /** Returns the end of the queue, as far as it was read. */
    QueueEnd end(QueueExtent extent, Roll roll) {
        return new QueueEnd(Optional.ofNullable(last), extent.newest(), roll);
    }

    /** Returns whether its first records are missing: retention removes whole files, oldest first. */
    boolean beginsLate() {
        return firstSequence > 0;
    }

    /** Returns the index of the record that was last read. */
    long index() {
        return reader.position().index();
    }

    int worker() {
        return journal.info().id();
    }

    /** Returns whether former records are known to be missing. */
    boolean hasLost() {
        return missing > 0 || unexplained != null || !lost.isEmpty(queue);
    }

    /** Checks all present records. */
    void read(Consumer<RecordView> each) throws IOException {
        while (true) {
            Step step = reader.next();
            if (step == Step.END) {
                if (lookedBehindEnd) {
                    return;
                }
                step = reader.searchBehindEnd();
                lookedBehindEnd = step == Step.END;
            }
            if (step == Step.DAMAGED) {
                damaged(reader.damage());
            } else if (step == Step.RECORD) {
                check(reader.record());
                each.accept(reader.record());
                last = reader.position();
                if (++records % PROGRESS_RECORDS == 0) {
                    progress.accept(PROGRESS_RECORDS);
                }
            }
        }
    }

    private void damaged(Damage damage) {
        unexplained = damage;
        find(Severity.DAMAGE, Kind.UNREADABLE, Optional.of(damage.file()), damage.from(), damage.to(), damage.text());
    }

    private void check(RecordView record) {
        checkSequence(record);
        if (record.from() != journal.info().id()) {
            misplaced("record " + record.sequence() + " is from worker " + record.from() + " in the journal of worker "
                    + journal.info().id());
        }
        boolean belongs = queue == JournalQueue.REQUESTS
                ? record.type().isRequest()
                : record.type().isResponse();
        if (!belongs) {
            misplaced("record " + record.sequence() + " is a " + record.type() + " among " + queue.directoryName());
        }
        if (queue == JournalQueue.REQUESTS) {
            checkRequestId(record);
        } else if (MessageId.worker(record.id()) != record.to()) {
            misplaced("record " + record.sequence() + " responds to message " + MessageId.text(record.id())
                    + " to worker " + record.to());
        }
    }

    private void checkSequence(RecordView record) {
        long sequence = record.sequence();
        long expected = lastSequence + 1;
        if (lastSequence != NONE && sequence > expected) {
            missing(expected, record);
        } else if (lastSequence != NONE && sequence < expected) {
            misplaced("record " + sequence + " comes behind record " + lastSequence);
        } else if (lastSequence == NONE && sequence > 0) {
            find(
                    unexplained == null ? Severity.NOTE : Severity.DAMAGE,
                    Kind.MISSING,
                    Optional.of(file()),
                    reader.offset(),
                    reader.offset(),
                    records(0, sequence) + " missing at the start"
                            + (unexplained == null ? ": older files were removed" : ""));
        }
        firstSequence = firstSequence == NONE ? sequence : firstSequence;
        lastSequence = Math.max(lastSequence, sequence);
        lastId = record.id();
        unexplained = null;
    }

    private void missing(long expected, RecordView record) {
        boolean isKnown = lost.covers(queue, expected, record.sequence() - 1) && unexplained == null;
        String cause = unexplained == null ? "" : ", in the damaged range before";
        if (isKnown) {
            cause = ", lost before this journal was brought here";
        } else if (reader.position().cycle() != last.cycle()) {
            cause += ", from " + last.fileName() + " on";
        }
        missing += record.sequence() - expected;
        find(
                isKnown ? Severity.NOTE : Severity.DAMAGE,
                Kind.MISSING,
                Optional.of(file()),
                reader.offset(),
                reader.offset(),
                records(expected, record.sequence()) + " missing between messages " + MessageId.text(lastId) + " and "
                        + MessageId.text(record.id()) + cause);
    }

    private static String records(long first, long end) {
        return end - first == 1 ? "record " + first + " is" : "records " + first + ".." + (end - 1) + " are";
    }

    private void checkRequestId(RecordView record) {
        long counter = MessageId.counter(record.id());
        if (MessageId.worker(record.id()) != journal.info().id()) {
            misplaced("record " + record.sequence() + " has the id " + MessageId.text(record.id())
                    + " of another worker's message");
        } else if (counter <= lastCounter && !record.isRepeated()) {
            misplaced("record " + record.sequence() + " has the id " + MessageId.text(record.id()) + " behind "
                    + MessageId.text(MessageId.of(journal.info().id(), lastCounter)));
        } else {
            lastCounter = Math.max(lastCounter, counter);
        }
    }

    private void misplaced(String text) {
        find(Severity.DAMAGE, Kind.MISPLACED, Optional.of(file()), reader.offset(), reader.offset(), text);
    }

    private Path file() {
        return directory.resolve(reader.position().fileName());
    }

    /** Checks that the queue reaches the position of a reader. */
    void requireReaches(OptionalLong sequence) {
        if (sequence.isPresent() && sequence.getAsLong() > lastSequence) {
            find(
                    Severity.DAMAGE,
                    Kind.MISSING,
                    Optional.of(directory),
                    0,
                    0,
                    records(lastSequence + 1, sequence.getAsLong() + 1) + " missing at the end: the index has seen "
                            + (sequence.getAsLong() == lastSequence + 1 ? "it" : "them"));
        }
    }

    void find(Severity severity, Kind kind, Optional<Path> file, long from, long to, String text) {
        findings.accept(
                new Finding(severity, kind, Optional.of(journal.info()), Optional.of(queue), file, from, to, text));
    }

    /** Reports a finding at the record that was read last. */
    void findHere(Severity severity, Kind kind, String text) {
        find(severity, kind, Optional.of(file()), reader.offset(), reader.offset(), text);
    }

    long records() {
        return records;
    }

    @Override
    public void close() {
        reader.close();
    }
}
