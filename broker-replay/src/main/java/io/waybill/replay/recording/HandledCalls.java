package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.replay.recording.BeginOrder.Begun;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.agrona.collections.Long2ObjectHashMap;

/**
 * The calls to a worker, read from its responses and the requests of its callers, each queue once and in parallel.
 * Requests without a handler's response follow last, in the order of their ids.
 *
 * <p><b>Threads.</b> One. <b>Memory.</b> Bounded for any size of the journals: excess waiting calls are dropped, and
 * looked up again when they are needed.
 */
final class HandledCalls implements CallRecording.Handled {

    private static final long UNKNOWN_EPOCH = -1;
    private static final long MAX_HELD_BYTES = 64L << 20;
    /** Max number of unhandled requests: about 20 MB. */
    private static final int MAX_UNHANDLED = 1 << 18;

    private final StoredJournals journals;
    private final WorkerInfo worker;
    private final MessageFilter filter;
    private final RecordingProblems problems;
    private final CallLookup lookup;
    private final QueueScan responses;
    private final HandlerRequests handlerRequests;
    private final Map<Integer, RequestStream> callers = new TreeMap<>();
    private final BeginOrder order = new BeginOrder();
    // responses without a handler, and repeated responses
    private final Long2ObjectHashMap<RecordPosition> unhandled = new Long2ObjectHashMap<>();
    private final MessageBuffer buffer = new MessageBuffer();
    private RequestStream latest; // the last used caller; null at first
    private boolean sawAllRequests;
    private boolean sawAllResponses;
    private Deque<RequestStream> rest; // callers whose unhandled requests follow; null while there are begun calls
    private long withoutRequest;

    /**
     * Creates a reader.
     *
     * @param journals closed with this object
     */
    HandledCalls(StoredJournals journals, StoredJournal worker, MessageFilter filter, RecordingProblems problems) {
        this.journals = journals;
        this.worker = worker.info();
        this.filter = filter;
        this.problems = problems;
        this.lookup = new CallLookup(journals, problems);
        this.responses = new QueueScan(journals, worker, JournalQueue.RESPONSES, problems::add);
        this.handlerRequests = new HandlerRequests(QueueScan.quiet(journals, worker, JournalQueue.REQUESTS));
        long maxHeldBytes = MAX_HELD_BYTES / Math.max(1, journals.all().size());
        for (StoredJournal caller : journals.all()) {
            int id = caller.info().id();
            if (filter.takesCaller(id)) {
                callers.put(
                        id, new RequestStream(journals, caller, this.worker.id(), filter, problems::add, maxHeldBytes));
            }
        }
    }

    @Override
    public RecordedCall next() throws IOException {
        while (rest == null) {
            RecordedCall begun = order.poll();
            if (begun != null) {
                return begun;
            }
            if (sawAllResponses) {
                reportBegun();
                rest = new ArrayDeque<>(callers.values());
            } else if (responses.next()) {
                take(responses.record());
            } else {
                atEnd();
            }
        }
        return nextUnhandled();
    }

    /** Marks the end of the scan: later requests are ignored, and responses up to now are used. */
    private void atEnd() throws IOException {
        if (sawAllRequests) {
            order.end();
            sawAllResponses = true;
            return;
        }
        for (RequestStream caller : callers.values()) {
            caller.readToEnd();
        }
        sawAllRequests = true;
    }

    private void take(RecordView response) throws IOException {
        long id = response.id();
        int callerId = MessageId.worker(id);
        if (latest == null || latest.callerId() != callerId) {
            latest = callers.get(callerId);
        }
        if (response.to() != callerId || response.from() != worker.id()) {
            return;
        }
        if (response.handlerSequence() <= 0 || response.isRepeated()) {
            if (unhandled.size() < MAX_UNHANDLED) {
                unhandled.putIfAbsent(id, responses.position());
            }
        } else if (latest == null) {
            fillPosition(response);
        } else {
            join(latest, response);
        }
    }

    /** Fills a position that other calls wait for. */
    private void fillPosition(RecordView response) {
        order.add(new Begun(response.handlerSequence(), UNKNOWN_EPOCH, false, null));
    }

    private void join(RequestStream caller, RecordView response) throws IOException {
        long counter = MessageId.counter(response.id());
        PendingRequest request = caller.take(counter);
        boolean isHandled = request == null && caller.isHandled(counter);
        if (request == null && !isHandled && caller.mayHaveDropped(counter)) {
            request = lookup.pending(response.id(), worker.id(), filter).orElse(null);
        }
        if (request == null) {
            withoutRequest += isHandled ? 0 : 1;
            fillPosition(response);
            return;
        }
        RecordedCall call = null;
        if (request.isWanted()) {
            if (!responses.complete()) {
                return;
            }
            call = filter.takesResponse(request.sentNs(), response) ? call(request, response) : null;
        }
        caller.handled(request);
        boolean isSure = !request.isAcrossIncarnations() && !response.isAcrossIncarnations();
        order.add(new Begun(response.handlerSequence(), request.epoch(), isSure, call));
    }

    private RecordedCall call(PendingRequest request, RecordView response) throws IOException {
        return new RecordedCall(
                request.id(),
                request.message(),
                Optional.of(copy(response)),
                handlerRequests.isLeaf(request.id(), response.sentNs()));
    }

    private RecordedMessage copy(RecordView response) {
        return RecordedMessage.copy(worker, JournalQueue.RESPONSES, responses.fileName(), response);
    }

    private RecordedCall nextUnhandled() throws IOException {
        for (; !rest.isEmpty(); rest.remove()) {
            RequestStream caller = rest.peek();
            for (RecordedMessage next = caller.nextUnhandled(); next != null; next = caller.nextUnhandled()) {
                Optional<RecordedMessage> response = unhandledResponse(next.id());
                boolean isWanted = response.isPresent()
                        ? filter.takesResponse(next.sentNs(), response.get().in(buffer))
                        : filter.takesUnanswered();
                if (isWanted) {
                    return new RecordedCall(next.id(), next, response);
                }
            }
        }
        return null;
    }

    private Optional<RecordedMessage> unhandledResponse(long id) throws IOException {
        RecordPosition position = unhandled.get(id);
        if (position != null && responses.moveTo(position, id)) {
            return Optional.of(copy(responses.record()));
        }
        return unhandled.size() == MAX_UNHANDLED ? lookup.response(id, worker.id()) : Optional.empty();
    }

    private void reportBegun() {
        if (withoutRequest > 0) {
            problems.add("of " + withoutRequest + " responses of worker " + worker.name()
                    + " there is no request on record: older files were removed, or are damaged");
        }
        if (order.outOfOrder() > 0) {
            problems.add(order.outOfOrder() + " calls to worker " + worker.name()
                    + " come behind one that began later, because their responses came very late");
        }
    }

    @Override
    public void close() {
        responses.close();
        handlerRequests.close();
        callers.values().forEach(RequestStream::close);
        journals.close();
    }
}
