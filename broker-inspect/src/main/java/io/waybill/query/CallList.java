package io.waybill.query;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.stored.StoredRecord;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** Selects requests, and finds their outcomes. One thread at a time. */
final class CallList {

    private static final int PROGRESS_RECORDS = 1 << 16;

    private record Seen(QueueSource source, RecordPosition position) {}

    private final StoredJournals journals;
    private final MessageFilter filter;
    private final LongConsumer progress;

    CallList(StoredJournals journals, MessageFilter filter, LongConsumer progress) {
        this.journals = journals;
        this.filter = filter;
        this.progress = progress;
    }

    /**
     * Passes on the calls that match the filter, oldest first.
     *
     * @param newest max number of the newest calls; 0 for all
     */
    void read(int newest, Consumer<StoredCall> sink) throws IOException {
        List<QueueSource> sources = new ArrayList<>();
        for (StoredJournal journal : journals.all()) {
            if (filter.takesCaller(journal.info().id())) {
                sources.add(QueueSource.ofPresent(journal, JournalQueue.REQUESTS, journals.host()));
            }
        }
        Deque<Seen> kept = new ArrayDeque<>();
        long read = 0;
        try (MergedQueues all = new MergedQueues(sources)) {
            for (QueueSource source = all.next(); source != null; source = all.next()) {
                if (++read % PROGRESS_RECORDS == 0) {
                    progress.accept(read);
                }
                if (!filter.takes(source.header())) {
                    continue;
                }
                Seen seen = new Seen(source, source.position());
                if (newest == 0) {
                    call(seen).ifPresent(sink);
                } else if (isDecidedByHeader() || call(seen).isPresent()) {
                    if (kept.size() == newest) {
                        kept.removeFirst();
                    }
                    kept.addLast(seen);
                }
            }
            for (Seen seen : kept) {
                call(seen).ifPresent(sink);
            }
        }
    }

    private boolean isDecidedByHeader() {
        return !filter.asksForOperation() && !filter.asksForOutcome();
    }

    private Optional<StoredCall> call(Seen seen) throws IOException {
        Optional<RecordView> record = seen.source().read(seen.position());
        if (record.isEmpty()) {
            return Optional.empty();
        }
        Optional<String> operation = Payload.operationOf(record.get());
        if (!filter.takesOperationOf(record.get())) {
            return Optional.empty();
        }
        StoredRecord request = seen.source().store(seen.position(), record.get());
        Optional<StoredRecord> response = journals.responseTo(request);
        StoredCall call = new StoredCall(request, operation, response, journals.notes(request, response));
        return filter.takesOutcome(call) && (!filter.asksForResponse() || isResponseWanted(call))
                ? Optional.of(call)
                : Optional.empty();
    }

    private boolean isResponseWanted(StoredCall call) throws IOException {
        Optional<StoredRecord> response = call.response();
        return response.isPresent()
                && journals.payload(response.get())
                        .filter(filter::takesResponse)
                        .isPresent();
    }
}
