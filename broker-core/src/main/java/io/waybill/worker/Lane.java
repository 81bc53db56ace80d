package io.waybill.worker;

import io.waybill.journal.Journal;
import io.waybill.wire.MessageBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The way into one of the worker's own queues: one thread at a time, with a buffer to compose the record in.
 *
 * <p>The lock is held for less than a microsecond by who has all that goes into the record.
 */
final class Lane {

    private final Journal journal;
    private final ReentrantLock lock = new ReentrantLock();
    private final MessageBuffer buffer = new MessageBuffer();

    Lane(Journal journal) {
        this.journal = journal;
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /** Under the lock. */
    MessageBuffer buffer() {
        return buffer;
    }

    Journal journal() {
        return journal;
    }

    /** Ends the journal; whoever comes later is told so. */
    void close() {
        lock.lock();
        try {
            journal.close();
        } finally {
            lock.unlock();
        }
    }
}
