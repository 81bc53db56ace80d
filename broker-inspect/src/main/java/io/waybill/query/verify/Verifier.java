package io.waybill.query.verify;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Roll;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.recover.QueueExtent;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.verify.Finding.Kind;
import io.waybill.query.verify.Finding.Severity;
import io.waybill.query.verify.RequestIds.Match;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Reads every record of every queue, and checks each queue by itself and requests against responses. One thread, once.
 *
 * <p>Findings are reported immediately. A single cause may produce millions: for each kind and queue the first few are
 * reported, and a count of the others at the end.
 */
public final class Verifier {

    private static final int MAX_SHOWN = 20;

    /** Key by which findings are counted. */
    private record Sort(Optional<WorkerInfo> worker, Optional<JournalQueue> queue, Kind kind, Severity severity) {}

    private final StoredJournals journals;
    private final Consumer<Finding> sink;
    private final LongConsumer progress;
    private final BesideCheck beside;
    private final Map<Integer, RequestIds> requests = new HashMap<>();
    private final Map<Integer, QueueCheck> requestChecks = new HashMap<>();
    private final Map<StoredJournal, Map<JournalQueue, QueueExtent>> extents = new HashMap<>();
    private final Map<StoredJournal, Map<JournalQueue, QueueEnd>> ends = new LinkedHashMap<>();
    private final Map<Integer, LongSummaryStatistics> unasked = new HashMap<>(); // counters, by caller
    private final Set<Integer> shortened = new HashSet<>(); // workers whose older responses were removed
    private final Set<Integer> lossy = new HashSet<>(); // workers with lost responses
    private final Map<Sort, Long> counts = new LinkedHashMap<>();
    private long records;
    private long damages;
    private long unanswered;
    private long read;

    /**
     * Creates a verifier.
     *
     * @param sink receiver of findings
     */
    public Verifier(StoredJournals journals, Consumer<Finding> sink, LongConsumer progress) {
        this.journals = journals;
        this.beside = new BesideCheck(journals.home(), this::found);
        this.sink = sink;
        this.progress = progress;
    }

    /** Checks all journals. */
    public Verification verify() throws IOException {
        for (String problem : journals.problems()) {
            found(new Finding(
                    Severity.DAMAGE,
                    Kind.UNREADABLE,
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    0,
                    0,
                    problem));
        }
        DirectoryCheck directories = new DirectoryCheck(journals.home(), this::found);
        directories.checkRecords(journals.all());
        beside.begin(journals.all());
        try {
            for (StoredJournal journal : journals.all()) {
                for (JournalQueue queue : JournalQueue.values()) {
                    directories.checkQueue(journal, queue);
                    extents.computeIfAbsent(journal, any -> new EnumMap<>(JournalQueue.class))
                            .put(queue, directories.checkExtent(journal, queue, beside.proofOf(journal, queue)));
                    directories.checkStructure(journal, queue);
                }
                readRequests(journal);
            }
            for (StoredJournal journal : journals.all()) {
                readResponses(journal);
            }
            noteEnds();
            beside.end(ends);
            for (StoredJournal journal : journals.all()) {
                reportUnasked(journal);
                reportUnanswered(journal);
            }
            reportCounts();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } finally {
            requestChecks.values().forEach(QueueCheck::close);
        }
        return new Verification(journals.all().size(), records, damages, unanswered);
    }

    /** Records the ends of the queues; last, because the requests may have been read further. */
    private void noteEnds() {
        for (StoredJournal journal : journals.all()) {
            end(journal, JournalQueue.REQUESTS, requestChecks.get(journal.info().id()));
        }
    }

    private void end(StoredJournal journal, JournalQueue queue, QueueCheck check) {
        QueueEnd end = check.end(
                extents.get(journal).get(queue), Roll.named(journals.home().rollCycle()));
        ends.computeIfAbsent(journal, any -> new EnumMap<>(JournalQueue.class)).put(queue, end);
    }

    private QueueCheck check(StoredJournal journal, JournalQueue queue) {
        return new QueueCheck(journal, queue, journals.host(), this::found, this::progressed);
    }

    private void readRequests(StoredJournal journal) throws IOException {
        QueueCheck check = check(journal, JournalQueue.REQUESTS);
        requestChecks.put(journal.info().id(), check);
        requests.put(journal.info().id(), new RequestIds());
        OptionalLong indexed = lastIndexed(journal, JournalQueue.REQUESTS);
        readOn(journal.info().id());
        check.requireReaches(indexed);
    }

    /** Reads the requests that the worker has sent since the last read. */
    private void readOn(int worker) throws IOException {
        QueueCheck check = requestChecks.get(worker);
        RequestIds ids = requests.get(worker);
        long before = check.records();
        check.read(record -> {
            ids.ask(MessageId.counter(record.id()), record.to(), record.isRepeated());
            if (beside.isFinished(record.to(), worker, check.index())) {
                ids.finish(MessageId.counter(record.id()));
            }
        });
        records += check.records() - before;
    }

    private void readResponses(StoredJournal journal) throws IOException {
        try (QueueCheck check = check(journal, JournalQueue.RESPONSES)) {
            OptionalLong indexed = lastIndexed(journal, JournalQueue.RESPONSES);
            ResponseCheck responses = new ResponseCheck(journal, check);
            check.read(responses::match);
            records += check.records();
            check.requireReaches(indexed);
            end(journal, JournalQueue.RESPONSES, check);
            if (check.beginsLate()) {
                shortened.add(journal.info().id());
            }
            if (check.hasLost()
                    || extents.get(journal).get(JournalQueue.RESPONSES).isLost()) {
                lossy.add(journal.info().id());
            }
        }
    }

    private OptionalLong lastIndexed(StoredJournal journal, JournalQueue queue) {
        try (JournalIndex index = journal.index(journals.host())) {
            return index.lastIndexed(queue);
        }
    }

    /** Matches the responses of one queue with the requests. */
    private final class ResponseCheck {
        private final StoredJournal journal;
        private final QueueCheck check;

        ResponseCheck(StoredJournal journal, QueueCheck check) {
            this.journal = journal;
            this.check = check;
        }

        void match(RecordView response) {
            int caller = MessageId.worker(response.id());
            long counter = MessageId.counter(response.id());
            RequestIds ids = requests.get(caller);
            if (ids == null) {
                stray(Severity.NOTE, response, ", whose journal is not in this home");
                return;
            }
            Match match = ids.respond(counter);
            if (match == Match.NONE) {
                match = responseByNow(caller, counter);
            }
            switch (match) {
                case FIRST -> {}
                case AGAIN -> repeated(Severity.DAMAGE, response, "");
                case AGAIN_AS_ASKED -> repeated(Severity.NOTE, response, ", which was sent again too");
                case NONE -> unasked(response, ids, caller, counter);
            }
            if (match != Match.NONE) {
                checkReceiver(response, ids.receiver(counter));
            }
        }

        private Match responseByNow(int caller, long counter) {
            try {
                readOn(caller); // a live worker may have sent requests since its queue was read
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return requests.get(caller).respond(counter);
        }

        private void unasked(RecordView response, RequestIds ids, int caller, long counter) {
            if (ids.isBefore(counter)) {
                stray(Severity.NOTE, response, ", older than what its journal has");
            } else if (ids.outside() > 0) {
                stray(Severity.NOTE, response, ", out of reach");
            } else if (requestChecks.get(caller).knowsOfLost()) {
                stray(Severity.NOTE, response, ", lost before its journal was brought here");
            } else {
                stray(Severity.DAMAGE, response, ", whose journal does not have it");
                unasked.computeIfAbsent(caller, any -> new LongSummaryStatistics())
                        .accept(counter);
            }
        }

        private void checkReceiver(RecordView response, int receiver) {
            if (receiver != RequestIds.UNKNOWN && receiver != journal.info().id()) {
                check.findHere(
                        Severity.DAMAGE,
                        Kind.MISPLACED,
                        "record " + response.sequence() + " responds to request " + MessageId.text(response.id())
                                + ", which went to worker " + receiver);
            }
        }

        private void repeated(Severity severity, RecordView response, String why) {
            check.findHere(
                    severity,
                    Kind.RESPONDED_AGAIN,
                    "record " + response.sequence() + " is another response to request " + MessageId.text(response.id())
                            + why);
        }

        private void stray(Severity severity, RecordView response, String why) {
            check.findHere(
                    severity,
                    Kind.NO_REQUEST,
                    "record " + response.sequence() + " responds to request " + MessageId.text(response.id())
                            + " of worker " + MessageId.worker(response.id()) + why);
        }
    }

    /** Reports responses to missing requests, with the files of the other workers. */
    private void reportUnasked(StoredJournal journal) {
        LongSummaryStatistics counters = unasked.get(journal.info().id());
        if (counters != null) {
            int caller = journal.info().id();
            QueueCheck check = requestChecks.get(caller);
            check.find(
                    Severity.DAMAGE,
                    Kind.MISSING,
                    Optional.of(ends.get(journal)
                            .get(JournalQueue.REQUESTS)
                            .file(JournalQueue.REQUESTS.in(journal.path()))),
                    0,
                    0,
                    counters.getCount() + " requests that have a response are not there, from "
                            + MessageId.text(MessageId.of(caller, counters.getMin())) + " to "
                            + MessageId.text(MessageId.of(caller, counters.getMax())));
        }
    }

    private void reportUnanswered(StoredJournal journal) {
        RequestIds ids = requests.get(journal.info().id());
        QueueCheck check = requestChecks.get(journal.info().id());
        long count = ids.unansweredCount();
        unanswered += count;
        if (count > 0) {
            StringBuilder text = new StringBuilder().append(count).append(" requests have no response:");
            ids.unanswered(
                    MAX_SHOWN,
                    counter -> text.append(' ')
                            .append(MessageId.text(MessageId.of(journal.info().id(), counter))));
            check.find(
                    Severity.NOTE,
                    Kind.NO_RESPONSE,
                    Optional.empty(),
                    0,
                    0,
                    text.append(count > MAX_SHOWN ? " …" : "").toString());
        }
        ids.unanswered(count, counter -> reportLostResponse(check, ids, counter));
    }

    /** Reports a missing response, which may be one of the callee's lost ones. */
    private void reportLostResponse(QueueCheck check, RequestIds ids, long counter) {
        int receiver = ids.receiver(counter);
        if (lossy.contains(receiver)) {
            check.find(
                    Severity.NOTE,
                    Kind.LOST_RESPONSE,
                    Optional.empty(),
                    0,
                    0,
                    "call " + MessageId.text(MessageId.of(check.worker(), counter)) + " to "
                            + journals.find(receiver)
                                    .map(StoredJournal::toString)
                                    .orElse("worker " + receiver)
                            + " has no response, and responses of that worker are lost");
        } else if (ids.isFinished(counter) && !shortened.contains(receiver)) {
            check.find(
                    Severity.NOTE,
                    Kind.LOST_RESPONSE,
                    Optional.empty(),
                    0,
                    0,
                    "call " + MessageId.text(MessageId.of(check.worker(), counter)) + " has no response, and "
                            + journals.find(receiver)
                                    .map(StoredJournal::toString)
                                    .orElse("worker " + receiver)
                            + ", which finished it, has lost it, or could not write it");
        }
    }

    private void found(Finding finding) {
        if (finding.isDamage()) {
            damages++;
        }
        Sort sort = new Sort(finding.worker(), finding.queue(), finding.kind(), finding.severity());
        if (counts.merge(sort, 1L, Long::sum) <= MAX_SHOWN) {
            sink.accept(finding);
        }
    }

    private void reportCounts() {
        counts.forEach((sort, count) -> {
            if (count > MAX_SHOWN) {
                sink.accept(new Finding(
                        sort.severity(),
                        sort.kind(),
                        sort.worker(),
                        sort.queue(),
                        Optional.empty(),
                        0,
                        0,
                        (count - MAX_SHOWN) + " more of this kind"));
            }
        });
    }

    private void progressed(long more) {
        read += more;
        progress.accept(read);
    }
}
