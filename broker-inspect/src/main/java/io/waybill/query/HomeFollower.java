package io.waybill.query;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.stored.StoredRecord;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Follower of a home's journals: the newest records, and then new ones. One thread at a time.
 *
 * <p>Returned records are complete and checked.
 */
public final class HomeFollower implements Closeable {

    private static final int MAX_BATCH = 10_000;

    private record Seen(QueueSource source, RecordPosition position, long sentNs) {}

    private final StoredJournals journals;
    private final MessageFilter filter;
    private final List<QueueSource> sources = new ArrayList<>();
    private final Set<Integer> followed = new HashSet<>();

    HomeFollower(StoredJournals journals, MessageFilter filter) {
        this.journals = journals;
        this.filter = filter;
    }

    /**
     * Reads up to the end, and passes on the newest records, oldest first. Must be called once, before {@link #poll}.
     */
    public void begin(int newest, Consumer<StoredEntry> sink) throws IOException {
        follow();
        Deque<Seen> kept = new ArrayDeque<>();
        MergedQueues all = new MergedQueues(sources);
        for (QueueSource source = all.next(); source != null; source = all.next()) {
            if (filter.takes(source.header()) && newest > 0 && takesPayload(source)) {
                if (kept.size() == newest) {
                    kept.removeFirst();
                }
                kept.addLast(new Seen(source, source.position(), source.header().sentNs()));
            }
        }
        give(kept, sink);
    }

    /** Passes on the records since the last call, in the order of sending within the batch. Returns their number. */
    public int poll(Consumer<StoredEntry> sink) throws IOException {
        follow();
        List<Seen> batch = new ArrayList<>();
        for (QueueSource source : sources) {
            for (int i = 0; i < MAX_BATCH && source.next(); i++) {
                if (filter.takes(source.header())) {
                    batch.add(
                            new Seen(source, source.position(), source.header().sentNs()));
                }
            }
        }
        batch.sort(Comparator.comparingLong(Seen::sentNs));
        return give(batch, sink);
    }

    private void follow() throws IOException {
        journals.refresh();
        for (StoredJournal journal : journals.all()) {
            if (filter.takesWorker(journal.info().id())
                    && followed.add(journal.info().id())) {
                for (JournalQueue queue : JournalQueue.values()) {
                    sources.add(QueueSource.following(journal, queue, journals.host()));
                }
            }
        }
    }

    /**
     * Checks the payload: a header does not contain the operation; the outcome of a request is known only with its
     * response.
     */
    private boolean takesPayload(QueueSource source) throws IOException {
        return !filter.asksForOperation() && !filter.asksForOutcome()
                || entry(source, source.position()).isPresent();
    }

    private Optional<StoredEntry> entry(QueueSource source, RecordPosition position) throws IOException {
        Optional<RecordView> record = source.read(position);
        if (record.isEmpty()) {
            return Optional.empty();
        }
        StoredRecord stored = source.store(position, record.get());
        Optional<String> operation = Payload.operationOf(record.get());
        if (filter.asksForResponse() && !filter.takesResponse(Payload.of(record.get()))) {
            return Optional.empty();
        }
        if (filter.asksForOutcome()) {
            return responded(stored);
        }
        return filter.takesOperationOf(record.get())
                ? Optional.of(new StoredEntry(stored, operation))
                : Optional.empty();
    }

    /** Returns the response with its request's operation, if the filter needs the outcome of the request. */
    private Optional<StoredEntry> responded(StoredRecord response) throws IOException {
        if (response.queue() != JournalQueue.RESPONSES) {
            return Optional.empty();
        }
        Optional<StoredJournal> caller = journals.find(response.to());
        if (caller.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = journals.index(caller.get());
        Optional<RecordPosition> position = index.find(JournalQueue.REQUESTS, response.id());
        if (position.isEmpty()) {
            return Optional.empty();
        }
        RecordView record = index.record(JournalQueue.REQUESTS);
        StoredRecord request = StoredRecord.of(caller.get().info(), JournalQueue.REQUESTS, position.get(), record);
        Optional<String> operation = Payload.operationOf(record);
        StoredCall call = new StoredCall(request, operation, Optional.of(response));
        return filter.takesOperationOf(record) && filter.takesOutcome(call)
                ? Optional.of(new StoredEntry(response, operation))
                : Optional.empty();
    }

    private int give(Iterable<Seen> seen, Consumer<StoredEntry> sink) throws IOException {
        int given = 0;
        for (Seen one : seen) {
            Optional<StoredEntry> entry = entry(one.source(), one.position());
            if (entry.isPresent()) {
                sink.accept(entry.get());
                given++;
            }
        }
        return given;
    }

    @Override
    public void close() {
        sources.forEach(QueueSource::close);
    }
}
