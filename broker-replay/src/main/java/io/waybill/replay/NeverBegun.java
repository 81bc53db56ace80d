package io.waybill.replay;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredJournals;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.Collection;
import java.util.Iterator;
import java.util.Optional;

/** The requests to a worker that no handler answered, as far as is known, in the order of their ids. One thread. */
final class NeverBegun implements Closeable {

    private final Iterator<RequestCursor> callers;
    private final OtherAnswers others;
    private final CallLookup lookup;
    private final StoredJournals journals;
    private final WorkerInfo worker;
    private final MessageFilter filter;
    private final MessageBuffer buffer = new MessageBuffer();
    private RequestCursor caller;
    private QueueReader reader; // null between two callers
    private long lastCounter;

    /** @param callers lowest id first, read to their end */
    NeverBegun(
            Collection<RequestCursor> callers,
            OtherAnswers others,
            CallLookup lookup,
            StoredJournals journals,
            WorkerInfo worker,
            MessageFilter filter) {
        callers.forEach(RequestCursor::forget);
        this.callers = callers.iterator();
        this.others = others;
        this.lookup = lookup;
        this.journals = journals;
        this.worker = worker;
        this.filter = filter;
    }

    /** The next one; null after the last. */
    RecordedCall next() throws IOException {
        while (reader != null || enterNext()) {
            Step step = reader.skim();
            if (step == Step.END && reader.searchBehindEnd() == Step.END) {
                close();
            } else if (step == Step.RECORD && isOpen(reader.record()) && reader.complete()) {
                RecordedCall call = call(reader.record());
                if (call != null) {
                    return call;
                }
            }
        }
        return null;
    }

    private boolean enterNext() {
        while (reader == null && callers.hasNext()) {
            caller = callers.next();
            if (caller.mayHaveOpen()) {
                reader = journals.find(caller.caller().id()).orElseThrow().read(JournalQueue.REQUESTS, journals.host());
                lastCounter = -1;
            }
        }
        return reader != null;
    }

    private boolean isOpen(RecordView header) {
        long counter = MessageId.counter(header.id());
        return header.to() == worker.id()
                && header.from() == caller.caller().id()
                && MessageId.worker(header.id()) == header.from()
                && counter > lastCounter
                && counter <= caller.lastCounter()
                && filter.takes(header)
                && !caller.isAnswered(counter);
    }

    /** Null when it is not wanted. */
    private RecordedCall call(RecordView request) throws IOException {
        long id = request.id();
        lastCounter = MessageId.counter(id);
        if (!filter.takesOperationOf(request)) {
            return null;
        }
        Optional<RecordedMessage> answer = answer(id);
        boolean isWanted = answer.isPresent()
                ? filter.takesAnswer(request.sentNs(), answer.get().in(buffer))
                : filter.takesUnanswered();
        return isWanted
                ? new RecordedCall(
                        id,
                        RecordedMessage.copy(caller.caller(), JournalQueue.REQUESTS, reader.fileName(), request),
                        answer)
                : null;
    }

    private Optional<RecordedMessage> answer(long id) throws IOException {
        Optional<QueueReader> found = others.find(id);
        if (found.isPresent()) {
            return Optional.of(RecordedMessage.copy(
                    worker,
                    JournalQueue.RESPONSES,
                    found.get().fileName(),
                    found.get().record()));
        }
        return others.hasForgotten() ? lookup.answer(id, worker.id()) : Optional.empty();
    }

    @Override
    public void close() {
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }
}
