package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.StoredJournal;
import io.waybill.query.StoredJournals;
import io.waybill.rref.RRefId;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.agrona.collections.Long2LongHashMap;

/** Which requests made the values that references name. What a worker asked is read once, when somebody asks for it. One thread. */
final class Creations {

    /** Most values of one worker that are known: about 120 MB. */
    private static final int MOST = 1 << 22;

    private final StoredJournals journals;
    private final Problems problems;
    private final Map<Integer, Long2LongHashMap> byWorker = new HashMap<>();

    Creations(StoredJournals journals, Problems problems) {
        this.journals = journals;
        this.problems = problems;
    }

    /** The id of the request; empty when none on record made it. */
    OptionalLong of(RRefId reference) throws IOException {
        Long2LongHashMap known = byWorker.get(reference.createdOn());
        if (known == null) {
            known = new Long2LongHashMap(MessageId.NONE);
            byWorker.put(reference.createdOn(), known);
            if (journals.find(reference.createdOn()).isPresent()) {
                read(journals.find(reference.createdOn()).get(), known);
            }
        }
        long id = known.get(reference.localId());
        return id == MessageId.NONE ? OptionalLong.empty() : OptionalLong.of(id);
    }

    private void read(StoredJournal journal, Long2LongHashMap found) throws IOException {
        try (QueueReader reader = journal.read(JournalQueue.REQUESTS, journals.host())) {
            Step step = reader.skim();
            while (step != Step.END || reader.searchBehindEnd() != Step.END) {
                RecordView record = reader.record();
                if (step == Step.RECORD
                        && record.typeCode() == MessageType.SCRIPT_REMOTE_CALL.code()
                        && !record.isRepeated()
                        && reader.complete()) {
                    References.made(record)
                            .filter(made -> found.size() < MOST)
                            .ifPresent(made -> found.put(made.localId(), record.id()));
                }
                step = reader.skim();
            }
        }
        if (found.size() == MOST) {
            problems.add("of the values that requests of worker "
                    + journal.info().name() + " made, only the first " + MOST + " are known");
        }
    }
}
