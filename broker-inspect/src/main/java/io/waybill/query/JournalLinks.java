package io.waybill.query;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.stored.StoredRecord;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;

/** Finds nested requests in the journals of a home, through the indexes if they exist. One thread. */
final class JournalLinks implements NestedCallSearch.Links {

    /** Margin: a clock may have been set, and a handler may continue after its response. */
    private static final long LATE_CHILD_NS = 10_000_000_000L;

    private static final int PROGRESS_RECORDS = 1 << 16;

    private final StoredJournals journals;
    private final LongConsumer progress;
    private long read;

    JournalLinks(StoredJournals journals, LongConsumer progress) {
        this.journals = journals;
        this.progress = progress;
    }

    /** Returns children by parent: from the index, or by one scan of the queue for all of them. */
    @Override
    public Map<Long, Collection<Long>> children(int callee, List<StoredCall> parents) throws IOException {
        Optional<StoredJournal> journal = journals.find(callee);
        if (journal.isEmpty()) {
            return Map.of();
        }
        Map<Long, Collection<Long>> ids = new HashMap<>();
        JournalIndex index = journals.index(journal.get());
        for (StoredCall parent : parents) {
            long id = parent.request().id();
            Optional<List<Long>> known = index.children(id, NestedCallSearch.MAX_CALLS);
            if (known.isEmpty()) {
                return search(journal.get(), parents);
            }
            ids.put(id, known.get());
        }
        return ids;
    }

    private Map<Long, Collection<Long>> search(StoredJournal callee, List<StoredCall> parents) throws IOException {
        Map<Long, Collection<Long>> ids = new HashMap<>();
        long untilNs = Long.MIN_VALUE;
        for (StoredCall parent : parents) {
            ids.put(parent.request().id(), new LinkedHashSet<>());
            untilNs = Math.max(untilNs, lastChildNs(parent));
        }
        try (QueueReader reader = callee.read(JournalQueue.REQUESTS, journals.host())) {
            for (Step step = reader.skim(); step != Step.END; step = reader.skim()) {
                if (++read % PROGRESS_RECORDS == 0) {
                    progress.accept(read);
                }
                RecordView record = reader.record();
                if (step == Step.RECORD && record.sentNs() > untilNs) {
                    break;
                }
                Collection<Long> found = step == Step.RECORD ? ids.get(record.parent()) : null;
                if (found != null && found.size() < NestedCallSearch.MAX_CALLS) {
                    found.add(record.id());
                }
            }
        }
        return ids;
    }

    private static long lastChildNs(StoredCall parent) {
        return parent.response()
                .map(response -> response.sentNs() + LATE_CHILD_NS)
                .orElse(Long.MAX_VALUE);
    }

    @Override
    public Optional<StoredCall> find(long id) throws IOException {
        Optional<StoredJournal> caller = journals.find(MessageId.worker(id));
        if (caller.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = journals.index(caller.get());
        Optional<RecordPosition> position = index.find(JournalQueue.REQUESTS, id);
        if (position.isEmpty()) {
            return Optional.empty();
        }
        RecordView record = index.record(JournalQueue.REQUESTS);
        StoredRecord request = StoredRecord.of(caller.get().info(), JournalQueue.REQUESTS, position.get(), record);
        Optional<String> operation = Payload.operationOf(record);
        Optional<StoredRecord> response = journals.responseTo(request);
        return Optional.of(new StoredCall(request, operation, response, journals.notes(request, response)));
    }
}
