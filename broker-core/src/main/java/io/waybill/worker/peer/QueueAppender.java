package io.waybill.worker.peer;

import io.waybill.journal.append.Journal;
import io.waybill.tensor.Plan;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The way into one of the worker's own queues: one thread at a time, with a buffer to compose the record in.
 *
 * <p>The lock is held for less than a microsecond by who has all that goes into the record.
 */
public final class QueueAppender {

    private final Journal journal;
    private final ReentrantLock lock = new ReentrantLock();
    private final MessageBuffer buffer = new MessageBuffer();
    private final SentStorages archive;

    /** @param archive of this queue */
    public QueueAppender(Journal journal, SentStorages archive) {
        this.journal = journal;
        this.archive = archive;
    }

    public void lock() {
        lock.lock();
    }

    public void unlock() {
        lock.unlock();
    }

    /** Under the lock. */
    public MessageBuffer buffer() {
        return buffer;
    }

    /**
     * Tells the archive which record the tensors of a message belong to. Under the lock.
     *
     * @param sequence of the record, if it was appended: a request that faults are injected into may be kept back
     */
    public void appended(Plan plan, long sequence, long id) {
        if (journal.size() > sequence) {
            plan.appended(archive, journal.file(), sequence, id);
        }
    }

    public Journal journal() {
        return journal;
    }

    /** The index of the record that was appended last; 0 when this incarnation has appended none. */
    public long lastIndex() {
        lock.lock();
        try {
            return journal.hasAppended() ? journal.lastIndex() : 0;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the journal; later callers get an error. */
    public void close() {
        lock.lock();
        try {
            journal.close();
        } finally {
            lock.unlock();
        }
    }
}
