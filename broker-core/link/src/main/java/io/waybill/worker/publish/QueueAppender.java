package io.waybill.worker.publish;

import io.waybill.api.MessageId;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.append.Journal;
import io.waybill.tensor.Plan;
import io.waybill.tensor.SentStorages;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.FaultAlarm;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appender of one of the worker's own queues, and the only way into it: a lock, and a buffer to compose a record in.
 *
 * <p>The lock is held for less than a microsecond when the parts of the record are prepared before.
 *
 * <p><b>The line.</b> A message is published when {@link Journal#append} returns. An exception until then leaves this
 * object, and the writer withdraws the message. After the append the outcome can't be changed any more: each step is
 * attempted, a failure is counted and reported, and none is thrown.
 */
public final class QueueAppender {

    private static final Logger LOG = LoggerFactory.getLogger(QueueAppender.class);

    private final Journal journal;
    private final ReentrantLock lock = new ReentrantLock();
    private final MessageBuffer buffer = new MessageBuffer();
    private final boolean isOfResponses;
    private final SentStorages archive;
    private final FaultAlarm faults;
    private final WorkerCounters counters;
    private final AtomicBoolean hasFailedBehind = new AtomicBoolean();
    private boolean composing; // guarded by the lock

    /**
     * Creates the appender of a journal.
     *
     * @param archive of this queue
     * @param isOfResponses whether the queue has responses, not requests
     * @param faults receives faults of mapped files, whose owner is found by the next poll
     */
    public QueueAppender(
            Journal journal, boolean isOfResponses, SentStorages archive, FaultAlarm faults, WorkerCounters counters) {
        this.journal = journal;
        this.isOfResponses = isOfResponses;
        this.archive = archive;
        this.faults = faults;
        this.counters = counters;
    }

    public void lock() {
        lock.lock();
    }

    public void unlock() {
        lock.unlock();
    }

    // ---- publishing

    /**
     * Publishes a message, and takes the steps that follow. Any thread.
     *
     * @param wallNs current time on the wall clock
     * @throws JournalFullException when there is no room; as with every exception from here, nothing was published
     */
    public void publish(Publication message, long wallNs) throws JournalFullException {
        lock();
        try {
            append(message, null, wallNs);
        } finally {
            unlock();
        }
        follow(message);
    }

    /**
     * Publishes a message, and takes the steps that follow immediately. Under the lock; {@link #follow} must be called
     * after it.
     *
     * @param through the fault injection before the journal; null for none
     * @param wallNs current time on the wall clock
     * @throws JournalFullException when there is no room; as with every exception from here, nothing was published or
     *     kept
     */
    public void append(Publication message, RecordSender through, long wallNs) throws JournalFullException {
        if (composing) {
            throw new IllegalStateException("a message can't be sent while the bytes of another one are read: "
                    + "the methods of a storage must not send any");
        }
        long sequence = journal.size();
        composing = true;
        try {
            message.compose(buffer);
            sequence = through == null ? journal.append(buffer, wallNs) : through.put(buffer, message.to(), wallNs);
        } catch (JournalFullException | RuntimeException | Error e) {
            if (journal.size() == sequence) {
                throw e;
            }
            failedBehind(
                    message.id(),
                    "its appender met an error",
                    e); // such as a fault of mapped memory that is reported late
        } finally {
            composing = false;
        }
        // the line: from here on nothing is thrown
        register(message, sequence);
        count(message);
        if (through != null) {
            sendFurther(message, through, wallNs);
        }
    }

    /** Appends a record that was composed elsewhere, and returns its sequence. Under the lock. */
    public long append(MessageBuffer record, long wallNs) throws JournalFullException {
        return journal.append(record, wallNs);
    }

    // ---- after the append: these do not throw

    /** Names the record to the plan of its tensors; fault injection may keep a request. Under the lock. */
    private void register(Publication message, long sequence) {
        try {
            Plan plan = message.plan();
            if (plan != null && sequence != RecordSender.KEPT) {
                plan.appended(archive, journal.file(), sequence, message.id());
            }
        } catch (RuntimeException | Error e) {
            failedBehind(message.id(), "its tensors will not be archived", e);
        }
    }

    private void count(Publication message) {
        try {
            message.count(buffer.length());
        } catch (RuntimeException | Error e) {
            failedBehind(message.id(), "it could not be counted", e);
        }
    }

    private void sendFurther(Publication message, RecordSender through, long wallNs) {
        try {
            through.follow(buffer, message.to(), wallNs);
        } catch (JournalFullException | RuntimeException | Error e) {
            failedBehind(message.id(), "what was to follow it could not be written", e);
        }
    }

    /**
     * Takes the steps that follow the append of a message: commits its leases, notifies its receiver, and reports it.
     * Without the lock.
     */
    public void follow(Publication message) {
        commit(message);
        announce(message.to(), message.id());
        try {
            message.expectOutcome();
        } catch (RuntimeException | Error e) {
            failedBehind(message.id(), "its deadline could not be noted", e);
        }
        try {
            message.report();
        } catch (RuntimeException | Error e) {
            failedBehind(message.id(), "it could not be reported to the listeners for events", e);
        }
    }

    /** Commits the leases of a message, and passes its storages to the archive. */
    private void commit(Publication message) {
        try {
            Plan plan = message.plan();
            if (plan != null) {
                plan.committed();
            }
        } catch (RuntimeException | Error e) {
            failedBehind(message.id(), "its tensors could not be passed to the archive", e);
        }
    }

    /** Notifies a peer of a message for it. Any thread. */
    public void announce(PeerLink to, long id) {
        try {
            to.announce(isOfResponses);
        } catch (RuntimeException | Error e) {
            failedBehind(id, "its receiver could not be woken", e);
        }
    }

    /**
     * Counts and reports a failure after the append of a message. The first one is logged, the others at level DEBUG,
     * as are faults of mapped files. Any thread.
     *
     * @param id of the message; {@link MessageId#NONE} for several
     * @param what the step that failed
     */
    private void failedBehind(long id, String what, Throwable e) {
        counters.countPublishingError();
        try {
            report(id, what, e);
        } catch (RuntimeException | Error inReport) { // such as a full stack or heap: it is counted
            hasFailedBehind.set(false); // and the next one is logged
        }
    }

    private void report(long id, String what, Throwable e) {
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

    // ---- the journal

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

    /** Ends the journal, which releases the space that it has reserved; later callers get an error. */
    public void end() {
        lock.lock();
        try {
            journal.end();
        } finally {
            lock.unlock();
        }
    }

    /** Releases the space that the journal has reserved beyond the needs of a writer at rest. */
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
