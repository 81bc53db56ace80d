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
 * Finds the messages of one worker's journal by their id, from any process, whether the worker lives or not.
 *
 * <p>A lookup that starts after an append finds it. It does not matter for what is found whether there is an index, how far it is, or
 * whether it tells the truth: every place that it gives is read and checked, and what it does not have yet is looked for in the queue
 * itself. Without an index a lookup takes as long as reading the queue.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Up to about 40 MB for each queue, for what is not in the index yet. Nothing is written
 * and no lock is taken. <b>Errors.</b> {@link IOException} when the journal's files can't be read; never for the index.
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

    /** @param maxRecent how many records of each queue may be remembered beside the index */
    static JournalIndex open(Path workerDirectory, JournalSettings settings, Host host, int maxRecent) {
        return new JournalIndex(workerDirectory, settings, host, maxRecent);
    }

    /** The newest record with this id; empty when the queue has none. {@link #record} then shows it. */
    public Optional<RecordPosition> find(JournalQueue queue, long id) throws IOException {
        return queues.get(queue).find(id);
    }

    /** Like {@link #find}, by reading the whole queue: also finds what an index leaves out. */
    public Optional<RecordPosition> search(JournalQueue queue, long id) throws IOException {
        return queues.get(queue).search(id);
    }

    /**
     * The requests of this worker that the handler of another request, their parent, sent, in the order of their ids.
     *
     * @param max no more than these
     * @return empty when there is no index, and too much to know it without: only reading the queue can tell
     */
    public Optional<List<Long>> children(long parent, int max) throws IOException {
        return queues.get(JournalQueue.REQUESTS).children(parent, max);
    }

    /** The record that was found last in the queue, whole and checked; valid until the next lookup. */
    public RecordView record(JournalQueue queue) {
        return queues.get(queue).record();
    }

    /** What lies where the last lookup in the queue expected its record. */
    public Optional<Damage> damage(JournalQueue queue) {
        return Optional.ofNullable(queues.get(queue).damage());
    }

    /** The number of the last record of the queue that the index, as it was opened, has; empty when it has none. */
    public OptionalLong lastIndexed(JournalQueue queue) {
        Optional<Checkpoint> checkpoint = shared.checkpoint(queue);
        return checkpoint.isPresent() ? OptionalLong.of(checkpoint.get().sequence()) : OptionalLong.empty();
    }

    /** Why the index is not used; empty text when it is, or when there is none. */
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
