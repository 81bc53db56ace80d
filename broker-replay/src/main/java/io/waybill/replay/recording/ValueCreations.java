package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.rref.id.RRefId;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.agrona.collections.Long2LongHashMap;

/**
 * Index of the requests that created the values of references. A worker's requests are read once, at the first query.
 * One thread.
 */
final class ValueCreations {

    /** Max number of values of one worker: about 120 MB. */
    private static final int MAX_VALUES = 1 << 22;

    private final StoredJournals journals;
    private final RecordingProblems problems;
    private final Map<Integer, Long2LongHashMap> byWorker = new HashMap<>();

    ValueCreations(StoredJournals journals, RecordingProblems problems) {
        this.journals = journals;
        this.problems = problems;
    }

    /** Returns the id of the request; empty if it is not recorded. */
    OptionalLong of(RRefId reference) throws IOException {
        Long2LongHashMap known = byWorker.get(reference.createdOn());
        if (known == null) {
            known = new Long2LongHashMap(MessageId.NONE);
            byWorker.put(reference.createdOn(), known);
            Optional<StoredJournal> creator = journals.find(reference.createdOn());
            if (creator.isPresent()) {
                read(creator.get(), known);
            }
        }
        long id = known.get(reference.localId());
        return id == MessageId.NONE ? OptionalLong.empty() : OptionalLong.of(id);
    }

    private void read(StoredJournal journal, Long2LongHashMap found) throws IOException {
        try (QueueScan requests = QueueScan.quiet(journals, journal, JournalQueue.REQUESTS)) {
            while (found.size() < MAX_VALUES && requests.next()) {
                if (requests.record().isCreation() && !requests.record().isRepeated() && requests.isWhole()) {
                    MessageReferences.created(requests.record())
                            .ifPresent(created -> found.put(
                                    created.localId(), requests.record().id()));
                }
            }
        }
        if (found.size() == MAX_VALUES) {
            problems.add("of the values that requests of worker "
                    + journal.info().name() + " made, only the first " + MAX_VALUES + " are known");
        }
    }
}
