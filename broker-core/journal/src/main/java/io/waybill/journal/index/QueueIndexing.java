package io.waybill.journal.index;

import io.waybill.api.MessageId;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.RollFile;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.agrona.collections.Long2LongHashMap;
import org.rocksdb.RocksDBException;

/** Indexing state of one queue. One thread at a time. */
final class QueueIndexing implements Closeable {

    private final JournalQueue queue;
    private final Path directory;
    private final SafeFiles files;
    private final QueueReader reader;
    private final LowestIds lowest;
    private int removedBelow = Integer.MIN_VALUE;
    private boolean mayHaveRemovals = true; // at the end of the queue, and after each file: a check lists the directory
    private int lastFile = Integer.MIN_VALUE; // roll cycle of the file of the record that was read last
    private long indexed;
    private boolean lookedBehindEnd;
    // the record that was read last
    private Roll roll;
    private long index;
    private long offset;
    private long sequence;
    private long id;
    private int checksum;

    private QueueIndexing(JournalQueue queue, Path directory, SafeFiles files, QueueReader reader, LowestIds lowest) {
        this.queue = queue;
        this.directory = directory;
        this.files = files;
        this.reader = reader;
        this.lowest = lowest;
    }

    /**
     * Continues at the end of the index.
     *
     * @return the state; empty when the queue does not match the index
     */
    static Optional<QueueIndexing> open(
            JournalQueue queue, Path workerDirectory, SafeFiles files, JournalSettings settings, IndexStore store)
            throws IOException, RocksDBException {
        Path directory = queue.in(workerDirectory);
        Optional<Checkpoint> checkpoint = store.checkpoint(queue);
        QueueReader reader = QueueReader.open(directory, files, settings);
        boolean opened = false;
        try {
            if (checkpoint.isPresent() && !moveBehind(reader, checkpoint.get())) {
                Optional<RollFile> oldest = RollFile.oldest(directory, files);
                if (oldest.isEmpty() || !oldest.get().isAfter(checkpoint.get().position())) {
                    return Optional.empty();
                }
                reader.close();
                reader = QueueReader.open(directory, files, settings);
            }
            QueueIndexing indexing = new QueueIndexing(queue, directory, files, reader, store.lowestIds(queue));
            opened = true;
            return Optional.of(indexing);
        } finally {
            if (!opened) {
                reader.close();
            }
        }
    }

    /** Moves the reader after the record of the checkpoint. Returns whether that exists. */
    static boolean moveBehind(QueueReader reader, Checkpoint checkpoint) throws IOException {
        return reader.moveTo(checkpoint.position())
                && reader.skim() == Step.RECORD
                && checkpointOf(reader).equals(checkpoint);
    }

    private static Checkpoint checkpointOf(QueueReader reader) {
        return new Checkpoint(
                reader.position(), reader.record().sequence(), reader.record().id(), checksumOf(reader.record()));
    }

    private static int checksumOf(RecordView record) {
        return record.buffer().memory().getInt(Envelope.CHECKSUM, ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Adds the next records to the store.
     *
     * @return their number; fewer than requested when there are no more
     */
    int step(int maxRecords, IndexStore store) throws IOException, RocksDBException {
        reader.leaveIfRemoved();
        if (mayHaveRemovals) {
            forgetRemoved(store);
            mayHaveRemovals = false;
        }
        int added = 0;
        int seen = 0;
        while (seen < maxRecords) {
            Step step = reader.skim();
            if (step == Step.END) {
                if (lookedBehindEnd) {
                    break;
                }
                // called once: a hole that an earlier incarnation left in the newest file
                lookedBehindEnd = reader.searchBehindEndIfWritten() == Step.END;
                continue;
            }
            seen++;
            if (step == Step.RECORD) {
                RecordView record = reader.record();
                store.add(queue, record.id(), reader.roll(), reader.index(), reader.offset());
                int file = reader.roll().cycleOf(reader.index());
                mayHaveRemovals |= file != lastFile;
                lastFile = file;
                if (lowest.add(file, record.id())) {
                    store.addLowest(queue, file, record.id());
                }
                if (queue == JournalQueue.REQUESTS && record.parent() != MessageId.NONE) {
                    store.addChild(record.parent(), record.id(), reader.roll(), reader.index(), reader.offset());
                }
                remember(record);
                added++;
            }
        }
        mayHaveRemovals |= seen < maxRecords;
        if (added > 0) {
            store.write(queue, new Checkpoint(new RecordPosition(roll, index, offset), sequence, id, checksum));
            indexed += added;
        }
        return seen;
    }

    /** Removes the entries of removed files. */
    private void forgetRemoved(IndexStore store) throws IOException, RocksDBException {
        int oldest = RollFile.oldest(directory, files).map(RollFile::cycle).orElse(removedBelow);
        if (oldest <= removedBelow) {
            return;
        }
        for (LowestIds.Bound bound : lowest.bounds(oldest)) {
            store.removeBelow(queue, bound.sender(), bound.id());
        }
        for (Map.Entry<Integer, Long2LongHashMap> file : lowest.below(oldest).entrySet()) {
            for (long sender : file.getValue().keySet()) {
                store.removeLowest(queue, file.getKey(), (int) sender);
            }
        }
        if (queue == JournalQueue.REQUESTS) {
            store.removeChildrenBefore(oldest);
        }
        lowest.removeBelow(oldest);
        removedBelow = oldest;
    }

    private void remember(RecordView record) {
        roll = reader.roll();
        index = reader.index();
        offset = reader.offset();
        sequence = record.sequence();
        id = record.id();
        checksum = checksumOf(record);
    }

    long indexed() {
        return indexed;
    }

    @Override
    public void close() {
        reader.close();
    }
}
