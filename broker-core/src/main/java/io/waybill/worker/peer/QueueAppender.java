package io.waybill.worker.peer;

import io.waybill.journal.append.Journal;
import io.waybill.tensor.Plan;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Appender of one of the worker's own queues: a lock, and a buffer to compose a record in.
 *
 * <p>The lock is held for less than a microsecond when the parts of the record are prepared before.
 */
public final class QueueAppender {

    private final Journal journal;
    private final ReentrantLock lock = new ReentrantLock();
    private final MessageBuffer buffer = new MessageBuffer();
    private final SentStorages archive;

    /**
     * Creates the appender of a journal.
     *
     * @param archive of this queue
     */
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

    /** Returns the buffer. Under the lock. */
    public MessageBuffer buffer() {
        return buffer;
    }

    /**
     * Registers the tensors of a message with the archive. Under the lock.
     *
     * @param sequence of the record, if it was appended: fault injection may delay a request
     */
    public void appended(Plan plan, long sequence, long id) {
        if (journal.size() > sequence) {
            plan.appended(archive, journal.file(), sequence, id);
        }
    }

    public Journal journal() {
        return journal;
    }

    /** Returns the index of the record that was appended last; 0 when this incarnation has appended none. */
    public long lastIndex() {
        lock.lock();
        try {
            return journal.hasAppended() ? journal.lastIndex() : 0;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the journal, which gives back what it has reserved; later callers get an error. */
    public void end() {
        lock.lock();
        try {
            journal.end();
        } finally {
            lock.unlock();
        }
    }

    /** Gives back what the journal has reserved beyond the needs of a writer at rest. */
    public void shrinkReserve() {
        lock.lock();
        try {
            journal.shrinkReserve();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the journal; later callers get an error. */
    public void close() {
        lock.lock();
        try {
            journal.close();
        } finally {
            lock.unlock();
        }
    }
}
