package io.waybill.journal.index;

import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Finds the messages of one worker's journal by id, from any process, whether the worker is running or not.
 *
 * <p>A lookup that starts after an append finds it. The result does not depend on the state of the index: every
 * position from it is read and checked, and records without an entry are searched in the queue itself. Without an index
 * a lookup takes the time of reading the queue.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Up to about 40 MB for each queue, for records that are not in the
 * index yet. Nothing is written and no lock is taken. <b>Errors.</b> {@link IOException} when the journal's files can't
 * be read; never for the index.
 */
public final class JournalIndex implements Closeable {

    private final SharedStore shared;
    private final Map<JournalQueue, QueueLookup> queues = new EnumMap<>(JournalQueue.class);

    private JournalIndex(Path workerDirectory, JournalSettings settings, Host host, int maxRecent) {
        shared = new SharedStore(workerDirectory, host);
        for (JournalQueue queue : JournalQueue.values()) {
            queues.put(queue, new QueueLookup(queue, workerDirectory, host.files(), settings, shared, maxRecent));
        }
    }

    /** Opens the journal in a worker's directory. Queues and index may be missing. */
    public static JournalIndex open(Path workerDirectory, JournalSettings settings, Host host) {
        return open(workerDirectory, settings, host, QueueLookup.MAX_RECENT);
    }

    /**
     * Opens the index of a worker.
     *
     * @param maxRecent max number of records of each queue that are remembered in addition to the index
     */
    static JournalIndex open(Path workerDirectory, JournalSettings settings, Host host, int maxRecent) {
        return new JournalIndex(workerDirectory, settings, host, maxRecent);
    }

    /** Returns the newest record with this id; empty when the queue has none. {@link #record} then shows it. */
    public Optional<RecordPosition> find(JournalQueue queue, long id) throws IOException {
        return queues.get(queue).find(id);
    }

    /** Finds a record like {@link #find}, by reading the whole queue: also finds records that an index omits. */
    public Optional<RecordPosition> search(JournalQueue queue, long id) throws IOException {
        return queues.get(queue).search(id);
    }

    /**
     * Returns the requests that the handler of another request, their parent, sent, in the order of their ids.
     *
     * @param max upper bound of the result
     * @return the ids; empty when there is no index and too much to read without it
     */
    public Optional<List<Long>> children(long parent, int max) throws IOException {
        return queues.get(JournalQueue.REQUESTS).children(parent, max);
    }

    /** Returns the record that was found last in the queue, whole and checked; valid until the next lookup. */
    public RecordView record(JournalQueue queue) {
        return queues.get(queue).record();
    }

    /** Returns the damage at the position where the last lookup expected its record. */
    public Optional<Damage> damage(JournalQueue queue) {
        return Optional.ofNullable(queues.get(queue).damage());
    }

    /** Returns the number of the last record of the queue in the index, as it was opened; empty when it has none. */
    public OptionalLong lastIndexed(JournalQueue queue) {
        Optional<Checkpoint> checkpoint = shared.checkpoint(queue);
        return checkpoint.isPresent() ? OptionalLong.of(checkpoint.get().sequence()) : OptionalLong.empty();
    }

    /** Returns why the index is not used; empty text when it is, or when there is none. */
    public String problem() {
        return shared.problem();
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        queues.values().forEach(queue -> steps.attempt(queue::close));
        steps.attempt(shared::close).finishUnchecked();
    }
}
