package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The requests of one caller to one worker, in their order, read as far as the worker's responses require. One thread.
 *
 * <p>Ids of a caller ascend. For an unwanted request only the header is read. An unchecked header is trusted only while
 * the counters are consecutive.
 */
final class RequestStream implements Closeable {

    /** Max bits of an incarnation: 32 MB. Its requests beyond this distance are not known to be handled. */
    private static final int MAX_HANDLED = 1 << 28;
    /** The counters of an incarnation of the caller have the same bits above these. */
    private static final int COUNTER_BITS = 32;

    private final WorkerInfo caller;
    private final int worker;
    private final MessageFilter filter;
    private final StoredJournals journals;
    private final StoredJournal journal;
    private final HeldRequests held;
    private final Map<Long, Handled> handled = new HashMap<>(); // by incarnation of the caller
    private long lastCounter = -1;
    private long endCounter = -1; // counter at the end of the first pass; -1 during the pass
    private long open; // number of wanted requests without a known response of a handler
    private QueueScan requests;
    private PendingRequest last; // null if the last request is not to the worker

    /** Requests of an incarnation that a handler responded to: bits by counter, from its first one to the worker on. */
    private record Handled(long firstCounter, BitSet requests) {}

    /**
     * Creates a stream.
     *
     * @param maxHeldBytes max size of requests that wait for their responses
     */
    RequestStream(
            StoredJournals journals,
            StoredJournal journal,
            int worker,
            MessageFilter filter,
            Consumer<String> problems,
            long maxHeldBytes) {
        this.journals = journals;
        this.journal = journal;
        this.caller = journal.info();
        this.worker = worker;
        this.filter = filter;
        this.held = new HeldRequests(maxHeldBytes);
        this.requests = new QueueScan(journals, journal, JournalQueue.REQUESTS, problems);
    }

    int callerId() {
        return caller.id();
    }

    /**
     * Returns the request with this counter; null if it does not exist, or {@linkplain #mayHaveDropped was dropped}.
     */
    PendingRequest take(long counter) throws IOException {
        PendingRequest found = held.take(counter);
        while (found == null && lastCounter < counter && readOn()) {
            if (last != null && lastCounter == counter) {
                found = last;
            } else if (last != null) {
                held.add(lastCounter, last);
            }
        }
        return found;
    }

    /** Returns whether a request that was not found may still be on record. */
    boolean mayHaveDropped(long counter) {
        return held.mayHaveDropped(counter);
    }

    /** Reads all requests up to now. */
    void readToEnd() throws IOException {
        while (readOn()) {
            if (last != null) {
                held.add(lastCounter, last);
            }
        }
    }

    private boolean readOn() throws IOException {
        last = null;
        if (!requests.next()) {
            return false;
        }
        RecordView header = requests.record();
        long counter = MessageId.counter(header.id());
        if (isOwn(header) && (counter == lastCounter + 1 || requests.isWhole())) {
            last = header.to() == worker ? pending(header, counter) : null;
            lastCounter = counter;
        }
        return true;
    }

    private boolean isOwn(RecordView header) {
        return MessageId.worker(header.id()) == caller.id()
                && header.from() == caller.id()
                && MessageId.counter(header.id()) > lastCounter;
    }

    private PendingRequest pending(RecordView header, long counter) throws IOException {
        handled.computeIfAbsent(counter >>> COUNTER_BITS, incarnation -> new Handled(counter, new BitSet()));
        if (!filter.takes(header)) {
            return PendingRequest.unwanted(header);
        }
        if (!requests.complete()) {
            return null;
        }
        PendingRequest request = PendingRequest.of(caller, requests.fileName(), header, filter);
        open += request.isWanted() ? 1 : 0;
        return request;
    }

    /** Records that a handler responded to a request of this stream. */
    void handled(PendingRequest request) {
        open -= request.isWanted() ? 1 : 0;
        long counter = MessageId.counter(request.id());
        Handled of = handled.get(counter >>> COUNTER_BITS);
        long at = of == null ? -1 : counter - of.firstCounter;
        if (at >= 0 && at < MAX_HANDLED) {
            of.requests.set((int) at);
        }
    }

    /** Returns whether a handler is known to have responded to a request. */
    boolean isHandled(long counter) {
        Handled of = handled.get(counter >>> COUNTER_BITS);
        long at = of == null ? -1 : counter - of.firstCounter;
        return at >= 0 && at < MAX_HANDLED && of.requests.get((int) at);
    }

    /** Starts over, and returns the wanted requests without a known response of a handler. Null after the last. */
    RecordedMessage nextUnhandled() throws IOException {
        if (endCounter < 0) {
            held.clear();
            requests.close();
            requests = QueueScan.quiet(journals, journal, JournalQueue.REQUESTS);
            endCounter = lastCounter;
            lastCounter = -1;
        }
        while (open > 0 && requests.next()) {
            RecordView header = requests.record();
            long counter = MessageId.counter(header.id());
            boolean isOpen = header.to() == worker
                    && isOwn(header)
                    && counter <= endCounter
                    && filter.takes(header)
                    && !isHandled(counter);
            if (isOpen && requests.isWhole()) {
                lastCounter = counter;
                if (filter.takesOperationOf(header)) {
                    return RecordedMessage.copy(caller, JournalQueue.REQUESTS, requests.fileName(), header);
                }
            }
        }
        return null;
    }

    @Override
    public void close() {
        requests.close();
    }
}
