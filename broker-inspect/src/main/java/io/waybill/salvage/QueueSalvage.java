package io.waybill.salvage;

import io.waybill.api.MessageId;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Roll;
import io.waybill.journal.append.QueueCopy;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.verify.LostRecords;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Copies the records of one queue unchanged. A record from a misdirected write is omitted: it is from another queue, or
 * its number is not between its neighbours'. Each record is therefore held until the next one is known.
 *
 * <p>One thread, once.
 */
final class QueueSalvage {

    private static final int PROGRESS_RECORDS = 1 << 14;

    private final JournalQueue queue;
    private final int worker;
    private final Roll roll;
    private final QueueReader reader;
    private final QueueCopy copy;
    private final Positions positions;
    private final Consumer<String> problems;
    private final LongConsumer progress;
    private final LostRecords lost;
    private final MessageBuffer waiting = new MessageBuffer();
    private final RecordView waitingView = new RecordView(waiting);
    private boolean isWaiting;
    private long waitingIndex;
    private int waitingCycle;
    private long nextSequence = -1; // before the first record
    private int lastCycle = Integer.MIN_VALUE;
    private long records;
    private long bytes;
    private long lostRecords;
    private long damages;
    private long strangers;

    QueueSalvage(
            JournalQueue queue,
            int worker,
            Roll roll,
            QueueReader reader,
            QueueCopy copy,
            Positions positions,
            LostRecords lost,
            Consumer<String> problems,
            LongConsumer progress) {
        this.queue = queue;
        this.worker = worker;
        this.roll = roll;
        this.reader = reader;
        this.copy = copy;
        this.positions = positions;
        this.lost = lost;
        this.problems = problems;
        this.progress = progress;
    }

    SalvagedQueue run() throws IOException {
        boolean lookedBehindEnd = false;
        while (true) {
            Step step = reader.next();
            if (step == Step.END) {
                if (lookedBehindEnd) {
                    break;
                }
                step = reader.searchBehindEnd();
                lookedBehindEnd = step == Step.END;
            }
            if (step == Step.DAMAGED) {
                damaged(reader.damage());
            } else if (step == Step.RECORD) {
                take(reader.record());
            }
        }
        pass();
        copy.finish();
        progress.accept(records % PROGRESS_RECORDS);
        return new SalvagedQueue(queue, records, bytes, lost.of(queue), lostRecords, damages, strangers);
    }

    private void damaged(Damage damage) {
        damages++;
        problems.accept(damage.toString());
    }

    private void take(RecordView record) throws IOException {
        if (!belongs(record) || record.sequence() < nextSequence) {
            stranger(record, "does not belong there");
            return;
        }
        if (isWaiting && record.sequence() <= waitingView.sequence()) {
            isWaiting = false; // of two records in the wrong order, the one with a jump is at a wrong position
            stranger(waitingView, "lies before record " + record.sequence());
        }
        pass();
        int length = record.buffer().length();
        waiting.reserve(length);
        waiting.memory().putBytes(0, record.buffer().memory(), 0, length);
        waitingIndex = reader.index();
        waitingCycle = reader.position().cycle();
        isWaiting = true;
    }

    private boolean belongs(RecordView record) {
        boolean isRequest = queue == JournalQueue.REQUESTS;
        return reader.roll() == roll
                && record.from() == worker
                && (isRequest ? record.type().isRequest() : record.type().isResponse())
                && MessageId.worker(record.id()) == (isRequest ? worker : record.to());
    }

    private void stranger(RecordView record, String why) throws IOException {
        strangers++;
        problems.accept(reader.position() + ": record " + record.sequence() + " from worker " + record.from() + " "
                + why + "; it was left out");
    }

    /** Copies the held record. */
    private void pass() throws IOException {
        if (!isWaiting) {
            return;
        }
        isWaiting = false;
        long sequence = waitingView.sequence();
        lastCycle = Math.max(lastCycle, waitingCycle);
        try {
            positions.copied(waitingIndex, copy.append(waiting, lastCycle));
        } catch (JournalFullException e) {
            throw new IOException(e.getMessage(), e);
        }
        if (nextSequence >= 0 && sequence > nextSequence) {
            lost.add(queue, nextSequence, sequence - 1);
            lostRecords += sequence - nextSequence;
        }
        nextSequence = sequence + 1;
        records++;
        bytes += waiting.length();
        if (records % PROGRESS_RECORDS == 0) {
            progress.accept(PROGRESS_RECORDS);
        }
    }
}
