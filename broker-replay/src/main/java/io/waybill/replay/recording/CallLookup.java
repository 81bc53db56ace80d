package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/** Finds calls of a home by their ids, through the indexes if they exist. One thread. */
final class CallLookup {

    /** Max number of nested calls of one handler. */
    static final int MAX_CHILDREN = 1 << 20;

    /** Margin for nested calls: a clock may have been set, and a handler may continue after its response. */
    static final long LATE_CHILD_NS = 10_000_000_000L;

    private final StoredJournals journals;
    private final RecordingProblems problems;

    CallLookup(StoredJournals journals, RecordingProblems problems) {
        this.journals = journals;
        this.problems = problems;
    }

    /** Returns a request with its response. */
    Optional<RecordedCall> call(long id) throws IOException {
        Optional<RecordedMessage> request = find(MessageId.worker(id), JournalQueue.REQUESTS, id);
        return request.isEmpty()
                ? Optional.empty()
                : Optional.of(new RecordedCall(
                        id, request.get(), response(id, request.get().receiver())));
    }

    /** Returns the response of a worker to a request. */
    Optional<RecordedMessage> response(long id, int worker) throws IOException {
        return find(worker, JournalQueue.RESPONSES, id);
    }

    /** Returns a request to a worker, wanted or not. */
    Optional<PendingRequest> pending(long id, int worker, MessageFilter filter) throws IOException {
        Optional<RecordedMessage> found = find(MessageId.worker(id), JournalQueue.REQUESTS, id);
        if (found.isEmpty() || found.get().receiver() != worker) {
            return Optional.empty();
        }
        RecordView request = journals.index(journals.find(MessageId.worker(id)).orElseThrow())
                .record(JournalQueue.REQUESTS);
        return Optional.of(
                filter.takes(request)
                        ? PendingRequest.of(found.get().worker(), found.get().fileName(), request, filter)
                        : PendingRequest.unwanted(request));
    }

    private Optional<RecordedMessage> find(int worker, JournalQueue queue, long id) throws IOException {
        Optional<StoredJournal> journal = journals.find(worker);
        if (journal.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = journals.index(journal.get());
        Optional<RecordPosition> position = index.find(queue, id);
        index.damage(queue).ifPresent(damage -> problems.add(damage.toString()));
        return position.filter(found -> index.record(queue).from() == worker)
                .map(found -> RecordedMessage.copy(journal.get().info(), queue, found.fileName(), index.record(queue)));
    }

    /** Returns the nested calls of a request's handler. */
    List<RecordedCall> nested(RecordedCall parent) throws IOException {
        Optional<StoredJournal> handler = journals.find(parent.request().receiver());
        if (parent.isLeaf() || parent.id() == MessageId.NONE || handler.isEmpty()) {
            return List.of();
        }
        Optional<List<Long>> indexed = journals.index(handler.get()).children(parent.id(), MAX_CHILDREN);
        Collection<Long> children = indexed.isPresent() ? indexed.get() : search(handler.get(), parent);
        if (children.size() == MAX_CHILDREN) {
            problems.add("of the requests that the handler of " + MessageId.text(parent.id()) + " sent, only the first "
                    + MAX_CHILDREN + " were taken");
        }
        List<RecordedCall> nested = new ArrayList<>();
        for (long id : children) {
            call(id).ifPresent(nested::add);
        }
        return nested;
    }

    /** Searches for nested calls without an index: reads the worker's requests until well after the response. */
    private Collection<Long> search(StoredJournal handler, RecordedCall parent) throws IOException {
        long untilNs = parent.response()
                .map(response -> response.sentNs() + LATE_CHILD_NS)
                .orElse(Long.MAX_VALUE);
        Collection<Long> found = new TreeSet<>(Long::compareUnsigned);
        try (QueueScan requests = QueueScan.quiet(journals, handler, JournalQueue.REQUESTS)) {
            while (requests.next() && requests.record().sentNs() <= untilNs && found.size() < MAX_CHILDREN) {
                if (requests.record().parent() == parent.id()) {
                    found.add(requests.record().id());
                }
            }
        }
        return found;
    }
}
