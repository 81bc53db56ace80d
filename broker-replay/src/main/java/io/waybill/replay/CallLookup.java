package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredJournal;
import io.waybill.query.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/** Finds calls of a home by their ids, through the indexes as far as there are any. One thread. */
final class CallLookup {

    /** Most requests of one handler that are looked for. */
    static final int MOST_CHILDREN = 1 << 20;
    /** A clock may have been set, and a handler may go on behind its answer. */
    static final long LATE_CHILD_NS = 10_000_000_000L;

    private final StoredJournals journals;
    private final Problems problems;

    CallLookup(StoredJournals journals, Problems problems) {
        this.journals = journals;
        this.problems = problems;
    }

    /** A request with its answer. */
    Optional<RecordedCall> call(long id) throws IOException {
        Optional<RecordedMessage> request = request(id);
        if (request.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(
                new RecordedCall(id, request.get(), answer(id, request.get().receiver())));
    }

    private Optional<RecordedMessage> request(long id) throws IOException {
        return find(MessageId.worker(id), JournalQueue.REQUESTS, id);
    }

    /** A request, wanted or not. */
    Optional<Asked> asked(long id, MessageFilter filter) throws IOException {
        Optional<StoredJournal> caller = journals.find(MessageId.worker(id));
        Optional<RecordPosition> place =
                caller.isEmpty() ? Optional.empty() : place(caller.get(), JournalQueue.REQUESTS, id);
        if (place.isEmpty()) {
            return Optional.empty();
        }
        RecordView record = journals.index(caller.get()).record(JournalQueue.REQUESTS);
        return Optional.of(
                filter.takes(record)
                        ? Asked.of(caller.get().info(), place.get().fileName(), record, filter)
                        : Asked.unwanted(record));
    }

    /** What a worker answered to a request. */
    Optional<RecordedMessage> answer(long id, int worker) throws IOException {
        return find(worker, JournalQueue.RESPONSES, id);
    }

    private Optional<RecordedMessage> find(int worker, JournalQueue queue, long id) throws IOException {
        Optional<StoredJournal> journal = journals.find(worker);
        if (journal.isEmpty()) {
            return Optional.empty();
        }
        return place(journal.get(), queue, id)
                .map(place -> RecordedMessage.copy(
                        journal.get().info(),
                        queue,
                        place.fileName(),
                        journals.index(journal.get()).record(queue)));
    }

    private Optional<RecordPosition> place(StoredJournal journal, JournalQueue queue, long id) throws IOException {
        JournalIndex index = journals.index(journal);
        Optional<RecordPosition> place = index.find(queue, id);
        index.damage(queue).ifPresent(damage -> problems.add(damage.toString()));
        return place.filter(
                found -> index.record(queue).from() == journal.info().id());
    }

    /** What the handler of a request called. */
    List<RecordedCall> nested(long parent) throws IOException {
        Optional<RecordedCall> call = call(parent);
        Optional<StoredJournal> handler =
                call.flatMap(found -> journals.find(found.request().receiver()));
        if (handler.isEmpty()) {
            return List.of();
        }
        List<RecordedCall> nested = new ArrayList<>();
        for (long id : children(handler.get(), call.get())) {
            call(id).ifPresent(nested::add);
        }
        return nested;
    }

    private Collection<Long> children(StoredJournal handler, RecordedCall parent) throws IOException {
        Optional<List<Long>> known = journals.index(handler).children(parent.id(), MOST_CHILDREN);
        Collection<Long> children = known.isPresent() ? known.get() : search(handler, parent);
        if (children.size() == MOST_CHILDREN) {
            problems.add("of the requests that the handler of " + MessageId.text(parent.id()) + " sent, only the first "
                    + MOST_CHILDREN + " were taken");
        }
        return children;
    }

    /** Without an index: reads what the worker sent until well behind the answer. */
    private Collection<Long> search(StoredJournal handler, RecordedCall parent) throws IOException {
        long untilNs =
                parent.response().map(answer -> answer.sentNs() + LATE_CHILD_NS).orElse(Long.MAX_VALUE);
        Collection<Long> found = new TreeSet<>(Long::compareUnsigned);
        try (QueueReader reader = handler.read(JournalQueue.REQUESTS, journals.host())) {
            Step step = reader.skim();
            while (step != Step.END || reader.searchBehindEnd() != Step.END) {
                RecordView header = reader.record();
                if (step == Step.RECORD && header.sentNs() > untilNs) {
                    break;
                }
                if (step == Step.RECORD && header.parent() == parent.id() && found.size() < MOST_CHILDREN) {
                    found.add(header.id());
                }
                step = reader.skim();
            }
        }
        return found;
    }
}
