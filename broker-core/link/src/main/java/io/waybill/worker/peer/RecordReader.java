package io.waybill.worker.peer;

import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.metrics.WorkerCounters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads records of peers' queues and counts the damaged ones.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class RecordReader {

    private static final Logger LOG = LoggerFactory.getLogger(RecordReader.class);

    private final int workerId;
    private final Quarantine quarantine;
    private final WorkerCounters counters;

    public RecordReader(int workerId, Quarantine quarantine, WorkerCounters counters) {
        this.workerId = workerId;
        this.quarantine = quarantine;
        this.counters = counters;
    }

    /** Returns the quarantine of peers whose files can't be read. */
    public Quarantine quarantine() {
        return quarantine;
    }

    /** Reads the next record for this worker. Surfaces earlier faults of this thread. */
    public Poll poll(JournalTail tail, MessageBuffer into) {
        Poll found = tail.poll(into, workerId);
        quarantine.polled(found);
        return found;
    }

    /** Throws when a mapping of the queue failed; a damaged record is skipped. */
    public static void requireReadable(JournalTail tail) {
        if (tail.isFaulted()) {
            throw new IllegalStateException(tail.damage());
        }
    }

    /** Counts a damaged record, and logs the first one of each link. */
    public void damaged(PeerLink link, String what) {
        counters.countDamaged();
        if (link.reader().countDamaged()) {
            LOG.error(
                    "What worker {} wrote does not read back whole; such records are skipped and counted: {}",
                    link,
                    what);
        }
    }
}
