package io.waybill.query;

import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.journal.CallRecord;
import io.waybill.home.Home;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.ArchivedTensors;
import io.waybill.query.stored.CallNotes;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredTensors;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Verification;
import io.waybill.query.verify.Verifier;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Read-only view of the journals of all workers of a home, alive or not. Never writes, locks or maps files: workers are
 * not affected, and no content of the home can block a read.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Bounded, for any size of the journals. <b>Errors.</b>
 * {@link IOException} when a directory can't be read; damage in the files is skipped, and reported by {@link #verify}.
 */
public final class HomeJournals implements StoredMessages {

    private final StoredJournals journals;
    private final StoredTensors tensors;
    private LongConsumer progress = records -> {};

    private HomeJournals(StoredJournals journals) {
        this.journals = journals;
        this.tensors = new ArchivedTensors(journals);
    }

    public static HomeJournals open(Home home) throws IOException {
        return new HomeJournals(new StoredJournals(home));
    }

    /** Sets a listener for progress: it receives the number of records read. */
    public HomeJournals onProgress(LongConsumer records) {
        progress = records;
        return this;
    }

    @Override
    public List<WorkerInfo> workers() {
        return journals.all().stream().map(StoredJournal::info).toList();
    }

    @Override
    public String nameOf(int id) {
        return journals.find(id).map(journal -> journal.info().name()).orElse(Integer.toString(id));
    }

    /** Returns entries among the workers' directories that are not directories of workers. */
    public List<String> problems() {
        return journals.problems();
    }

    @Override
    public StoredTensors tensors() {
        return tensors;
    }

    @Override
    public Optional<Payload> payload(StoredRecord record) throws IOException {
        return journals.payload(record);
    }

    @Override
    public FoundMessage show(long id, Effort effort) throws IOException {
        journals.forgetNotes();
        List<String> notes = new ArrayList<>();
        Found request = new Found();
        Optional<StoredJournal> caller = journals.find(MessageId.worker(id));
        if (caller.isPresent()) {
            request = find(caller.get(), JournalQueue.REQUESTS, id, effort, notes);
        } else {
            notes.add("worker " + MessageId.worker(id) + " has no journal in this home");
        }
        if (request.record == null && caller.isPresent()) {
            noteIfRemoved(caller.get(), id, notes);
        }
        Found response =
                request.record == null ? anybodys(id, effort, notes) : responseTo(request.record, effort, notes);
        FoundMessage found = new FoundMessage(
                id,
                Optional.ofNullable(request.payload).flatMap(Payload::call).map(Invocation::name),
                Optional.ofNullable(request.record),
                Optional.ofNullable(request.payload),
                Optional.ofNullable(response.record),
                Optional.ofNullable(response.payload),
                List.of(),
                List.of(),
                notes,
                notesOf(request, response));
        return withNested(found, notes);
    }

    private CallNotes notesOf(Found request, Found response) throws IOException {
        return request.record == null
                ? CallNotes.NONE
                : journals.notes(request.record, Optional.ofNullable(response.record));
    }

    private Found responseTo(StoredRecord request, Effort effort, List<String> notes) throws IOException {
        Optional<StoredJournal> callee = journals.find(request.to());
        if (callee.isPresent()) {
            Found response = find(callee.get(), JournalQueue.RESPONSES, request.id(), effort, notes);
            if (response.record == null) {
                noteIfRemoved(callee.get(), request, notes);
            }
            return response;
        }
        notes.add("worker " + request.to() + ", to which the request went, has no journal in this home");
        return new Found();
    }

    /** Searches all workers for a response without its request. */
    private Found anybodys(long id, Effort effort, List<String> notes) throws IOException {
        Found response = new Found();
        for (StoredJournal any : journals.all()) {
            if (response.record == null) {
                response = find(any, JournalQueue.RESPONSES, id, effort, notes);
            }
        }
        return response;
    }

    private FoundMessage withNested(FoundMessage found, List<String> notes) throws IOException {
        List<StoredCall> ancestors = List.of();
        List<CallTree> children = List.of();
        if (found.call().isPresent()) {
            StoredCall call = found.call().get();
            long dueNs = call.request().dueNs();
            if (call.outcome() == CallRecord.Outcome.NONE
                    && dueNs != 0
                    && dueNs < journals.host().clock().wallNs()) {
                notes.add(
                        "the deadline has passed, and the caller's worker has noted no outcome: its process ended before");
            }
            NestedCallSearch search = new NestedCallSearch(new JournalLinks(journals, progress), notes);
            ancestors = search.ancestors(call.request());
            children = search.descendants(call);
        }
        return new FoundMessage(
                found.id(),
                found.operation(),
                found.request(),
                found.requestPayload(),
                found.response(),
                found.responsePayload(),
                ancestors,
                children,
                notes.stream().distinct().toList(),
                found.workerNotes());
    }

    /**
     * Adds a note if a request was removed: ids of a worker's requests ascend, so an id below the oldest present one
     * existed.
     */
    private void noteIfRemoved(StoredJournal caller, long id, List<String> notes) throws IOException {
        try (QueueReader reader = caller.read(JournalQueue.REQUESTS, journals.host())) {
            if (reader.skim() == Step.RECORD
                    && MessageId.counter(reader.record().id()) > MessageId.counter(id)) {
                notes.add("message " + MessageId.text(id) + " was removed by retention: the oldest request of worker "
                        + caller.info().name() + " that is there is "
                        + MessageId.text(reader.record().id()));
            }
        }
    }

    private void noteIfRemoved(StoredJournal callee, StoredRecord request, List<String> notes) throws IOException {
        try (QueueReader reader = callee.read(JournalQueue.RESPONSES, journals.host())) {
            if (reader.skim() == Step.RECORD
                    && reader.record().sequence() > 0
                    && reader.record().sentNs() > request.sentNs()) {
                notes.add("responses of worker " + callee.info().name()
                        + " from that time were removed by retention; whether this request had one is not known");
            }
        }
    }

    /** One record with its payload; both null if there is none. */
    private static final class Found {
        private StoredRecord record;
        private Payload payload;
    }

    private Found find(StoredJournal journal, JournalQueue queue, long id, Effort effort, List<String> notes)
            throws IOException {
        JournalIndex index = journals.index(journal);
        Optional<RecordPosition> position = effort == Effort.INDEX ? index.find(queue, id) : index.search(queue, id);
        if (!index.problem().isEmpty()) {
            notes.add("index: " + index.problem());
        }
        index.damage(queue).ifPresent(damage -> notes.add("damaged: " + damage));
        Found found = new Found();
        if (position.isPresent()) {
            found.record = StoredRecord.of(journal.info(), queue, position.get(), index.record(queue));
            found.payload = Payload.of(index.record(queue));
        }
        return found;
    }

    /** Returns the request with an id and its outcome, by the index; empty if there is none. */
    public Optional<StoredCall> find(long id) throws IOException {
        refresh();
        return new JournalLinks(journals, progress).find(id);
    }

    /** Includes workers that have joined since, and what workers have noted since. */
    private void refresh() throws IOException {
        journals.forgetNotes();
        journals.refresh();
    }

    @Override
    public void list(MessageFilter filter, int newest, Consumer<StoredCall> sink) throws IOException {
        refresh();
        new CallList(journals, filter, progress).read(newest, sink);
    }

    /** Follows the journals; the caller closes. */
    public HomeFollower follow(MessageFilter filter) {
        return new HomeFollower(journals, filter);
    }

    /**
     * Passes on the figures of each queue, by worker id. A home of many workers is read by several threads; the sink is
     * called by this one.
     */
    public void stats(MessageFilter filter, Consumer<QueueStats> sink) throws IOException {
        new StatsReader(journals, filter).read().forEach(sink);
    }

    @Override
    public Verification verify(Consumer<Finding> sink) throws IOException {
        return new Verifier(journals, sink, progress).verify();
    }

    @Override
    public void close() {
        journals.close();
    }
}
