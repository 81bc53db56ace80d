package io.waybill.worker.peer;

import io.waybill.api.MessageId;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.append.Journal;
import io.waybill.tensor.Plan;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.poll.FaultAlarm;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appender of one of the worker's own queues: a lock, and a buffer to compose a record in.
 *
 * <p>The lock is held for less than a microsecond when the parts of the record are prepared before.
 *
 * <p><b>The line.</b> Until {@link Journal#append} returns, a message can be taken back. Behind it the message is published, its outcome
 * can't be changed any more, and no failure is passed to the caller: {@link #committed} and {@link #announce} contain theirs, and
 * {@link #failedBehind} is where all others go.
 */
public final class QueueAppender {

    private static final Logger LOG = LoggerFactory.getLogger(QueueAppender.class);

    private final Journal journal;
    private final ReentrantLock lock = new ReentrantLock();
    private final MessageBuffer buffer = new MessageBuffer();
    private final SentStorages archive;
    private final FaultAlarm faults;
    private final AtomicBoolean hasFailedBehind = new AtomicBoolean();

    /**
     * Creates the appender of a journal.
     *
     * @param archive of this queue
     * @param faults where faults of mapped files go, whose owner is found by the next poll
     */
    public QueueAppender(Journal journal, SentStorages archive, FaultAlarm faults) {
        this.journal = journal;
        this.archive = archive;
        this.faults = faults;
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

    // ---- behind the append: these do not throw

    /** Commits the leases of a message that was published, and passes its storages to the archive. Any thread. */
    public void committed(Plan plan, long id) {
        try {
            plan.committed();
        } catch (RuntimeException | Error e) {
            failedBehind(id, "its tensors could not be passed to the archive", e);
        }
    }

    /** Notifies a peer of a message for it. Any thread. */
    public void announce(PeerLink to, long id) {
        try {
            to.announce();
        } catch (RuntimeException | Error e) {
            failedBehind(id, "its receiver could not be woken", e);
        }
    }

    /**
     * Reports a failure behind the append of a message. The first one is logged, the others at level DEBUG, as are faults of mapped files.
     * Any thread.
     *
     * @param what could not be done
     */
    public void failedBehind(long id, String what, Throwable e) {
        if (MappedFaults.is(e)) {
            faults.report(e);
            return;
        }
        String message = id == MessageId.NONE ? "A message" : "Message " + MessageId.text(id);
        String text = message + " is in " + journal.directory() + ", but " + what;
        if (hasFailedBehind.compareAndSet(false, true)) {
            ForeignErrors.warn(LOG, text + "; it is not taken back. Later ones are logged at level DEBUG", e);
        } else {
            LOG.debug("{}: {}", text, ForeignErrors.describe(e));
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
