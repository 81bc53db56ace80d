package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.Outcome;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.RequestCounts;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerCall;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * One request and its one outcome: from reading the record until the response is in the journal. Pooled, with
 * everything that a request needs, and reused.
 *
 * <p><b>Threads.</b> Handed from the poller to the handler's thread, and with a deferred response to the thread that
 * responds.
 */
public final class Exchange implements HandlerCall {

    private final ServingContext context;
    private final ExchangePool pool;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message;
    private final Consumer<Throwable> releaseErrors = this::releaseFailed;
    private final Attachments attachments;
    private final RequestOutbox outbox;
    private final HandlerTask task;
    // The sequence number of the request without an outcome; 0 once a thread has claimed its completion.
    private final AtomicLong open = new AtomicLong();
    private final OpenRequest inFlight;
    private final RequestCounts counts;

    private PeerLink link;
    private long index;
    private long parkedSinceNs;
    private Delivered delivered = Delivered.FIRST;
    private HandlerEntry entry;
    private long handlerSequence;

    public Exchange(ServingContext context, ExchangePool pool) {
        this.context = context;
        this.pool = pool;
        this.attachments = new Attachments(context, releaseErrors);
        this.outbox = new RequestOutbox(context, this, releaseErrors);
        this.message = new InboundMessage(view, outbox::leftNs);
        this.task = new HandlerTask(context, this, attachments, outbox, message);
        this.inFlight = pool.open(this);
        this.counts = new RequestCounts(context.served(), view);
    }

    // ---- the record

    MessageBuffer buffer() {
        return buffer;
    }

    RecordView view() {
        return view;
    }

    int memoryBytes() {
        return buffer.memory().capacity();
    }

    PeerLink link() {
        return link;
    }

    /** Returns the position of the record in the peer's requests. */
    long index() {
        return index;
    }

    /** Returns whether an earlier incarnation may have begun the request. */
    Delivered delivered() {
        return delivered;
    }

    /** Takes over the request in the buffer. Its position must not count as read before this call. */
    void arrivedFrom(PeerLink peer, long atIndex, Delivered how) {
        link = peer;
        counts.open(peer.id(), peer.name());
        index = atIndex;
        delivered = how;
        parkedSinceNs = 0;
        inFlight.open(peer, atIndex, view.id());
    }

    /** Notes since when the request was parked, on the monotonic clock. */
    void parkedSince(long monotonicNs) {
        parkedSinceNs = monotonicNs;
    }

    /** Returns since when the request was parked; 0 if it was not. */
    long parkedSinceNs() {
        return parkedSinceNs;
    }

    RequestCounts counts() {
        return counts;
    }

    /** Frees this object without an outcome: the request waits elsewhere. */
    void leave() {
        counts.left();
        link = null;
        inFlight.close();
        pool.give(this);
    }

    /** Counts out a request that was not served, because reading failed. */
    void dropped() {
        if (link != null) {
            counts.left();
        }
    }

    OpenRequest inFlight() {
        return inFlight;
    }

    // ---- admission

    /** Returns the task that runs the handler. */
    HandlerTask task() {
        return task;
    }

    /** Opens the request for a handler that has counted it. */
    void admit(HandlerEntry chosen, long sequence, ReceivedTensors arrived) {
        entry = chosen;
        counts.name();
        attachments.open(arrived);
        handlerSequence = sequence;
        task.open();
        outbox.open(view.id(), view.deadlineNs());
        message.open(chosen.key(), delivered, attachments.tensors());
        open.lazySet(sequence); // last: a thread that sees it sees the rest
    }

    /**
     * Takes the request's references.
     *
     * @throws RejectedMessageException when they are malformed, or the request was abandoned
     */
    void takeReferences() throws RejectedMessageException {
        attachments.takeReferences(view, link);
        message.references(attachments.references().held());
    }

    Attachments attachments() {
        return attachments;
    }

    private void releaseFailed(Throwable e) {
        context.handlerErrors().logRelease(entry, e);
    }

    // ---- the outcome

    boolean isExpired() {
        return view.deadlineNs() != 0 && context.clock().bootNs() >= view.deadlineNs();
    }

    void failExpired(String before) {
        fail(Failure.expired(view, context.clock(), before));
    }

    /** Rejects the request with an error of the broker, without a handler, and frees this object. */
    void refuse(ErrorCode code, String text) {
        refuse(failure(code, text));
    }

    /** Rejects the request, without a handler, and frees this object. */
    void refuse(Failure failure) {
        context.transit().discard(view, link);
        refuseAs(failure);
    }

    /** Rejects a request whose tensors were decoded, or could not be. */
    void refuseDecoded(ErrorCode code, String text) {
        refuseAs(failure(code, text));
    }

    private Failure failure(ErrorCode code, String text) {
        return Failure.of(code, context.responses().workerId(), text);
    }

    private void refuseAs(Failure failure) {
        RequestReferences references = attachments.references();
        if (references == null) {
            RequestReferences.decline(context.references(), view, link);
        } else {
            references.createFailed(failure);
        }
        context.responses().fail(this, 0, new ResponseBody.OfError(failure));
        free();
    }

    /**
     * Ends the request with its deferred response.
     *
     * @param failure null when the body is the response
     */
    void completeLate(ResponseBody body, Failure failure) {
        try {
            Failure outcome = task.afterLate(body, failure);
            if (open.get() == handlerSequence && attachments.areCut()) {
                failCut();
            } else if (outcome != null) {
                fail(outcome);
            } else {
                complete(body);
            }
        } finally {
            context.faults().surface(); // the thread may be one of the program
        }
    }

    /** Ends the request with the response in this body, unless another thread has ended it. */
    void complete(ResponseBody body) {
        if (open.compareAndSet(handlerSequence, 0)) {
            Outcome outcome = Outcome.FAILED;
            try {
                outcome = respond(body) ? Outcome.DONE : Outcome.FAILED;
            } finally {
                ended(outcome);
            }
        } else {
            giveUp(); // abandoned: the response was sent by another thread
        }
    }

    void failCut() {
        fail(failure(
                ErrorCode.PEER_CORRUPT,
                "the segment of worker " + link
                        + " that the request's tensors lie in was cut short while they were in use"));
    }

    /** Ends the request with an error, unless another thread has ended it. */
    void fail(Failure failure) {
        if (open.compareAndSet(handlerSequence, 0)) {
            try {
                respondFailure(failure);
            } finally {
                ended(Outcome.FAILED);
            }
        } else {
            giveUp(); // abandoned, as above
        }
    }

    private void giveUp() {
        outbox.body().reset();
        attachments.giveUp();
    }

    /** Sends the body. Returns whether it was the response. */
    private boolean respond(ResponseBody body) {
        if (attachments.creates()) {
            attachments.references().create(body.content());
        } else if (attachments.references() != null) {
            attachments.references().ended(ErrorCode.NO_RESPONSE, "no message inside its request created the value");
        }
        return send(body);
    }

    private void respondFailure(Failure failure) {
        if (attachments.creates()) {
            attachments.references().createFailed(failure);
            ResponseBody body = new ResponseBody(releaseErrors);
            attachments.references().nameCreated(body.content());
            send(body);
        } else {
            if (attachments.references() != null) {
                attachments.references().ended(failure.code(), failure.text());
            }
            context.responses().fail(this, handlerSequence, new ResponseBody.OfError(failure, task, outbox.observed()));
        }
    }

    private boolean send(ResponseBody body) {
        body.givenBy(task);
        body.observed(outbox.observed());
        return context.responses().send(this, handlerSequence, body);
    }

    /** Returns the flags of the response's record. */
    int flags() {
        return delivered == Delivered.AGAIN ? Envelope.ACROSS_INCARNATIONS : 0;
    }

    private void ended(Outcome outcome) {
        HandlerEntry ended = entry;
        try {
            outbox.body().reset();
            free();
        } finally { // otherwise a drain of this handler would never end
            ended.end(outcome);
        }
    }

    private void free() {
        inFlight.close(); // the response is in the journal
        task.endInterception();
        boolean reusable = attachments.close() && outbox.dispatched().isEmpty();
        message.close();
        outbox.close();
        entry = null;
        link = null;
        if (!reusable) {
            pool.drop(this);
        } else if (!task.keepsInline()) {
            pool.give(this);
        }
    }

    /** Completes the request in place of its handler, if it has no outcome. */
    void abandonAdmitted() {
        abandon(handlerSequence);
    }

    @Override
    public void abandon(long sequence) {
        // its thread may still be in the handler: this object is not reused
        if (sequence != 0 && open.compareAndSet(sequence, 0)) {
            HandlerEntry ended = entry;
            try {
                DeferredResponse late = outbox.late();
                if (!task.isBegun() || late != null && late.isAwaited()) { // no thread uses what arrived
                    giveUp();
                }
                respondFailure(abandonedBecause(ended));
            } finally {
                inFlight.close();
                pool.drop(this);
                task.endInterception();
                ended.end(Outcome.FAILED);
            }
        }
    }

    /**
     * Returns the reason: the deadline when that has passed, because its caller sees a timeout; otherwise the handler.
     */
    private Failure abandonedBecause(HandlerEntry by) {
        if (isExpired()) {
            return Failure.expired(view, context.clock(), "its response came");
        }
        return failure(
                ErrorCode.HANDLER_STUCK,
                by.provider() + " did not finish " + by.key().text() + " before it left");
    }

    // ---- HandlerCall, read by the housekeeper's thread

    @Override
    public long sequence() {
        return open.get();
    }

    @Override
    public HandlerEntry entry() {
        return entry;
    }

    @Override
    public long id() {
        return outbox.origin().id();
    }

    @Override
    public long deadlineNs() {
        return outbox.origin().deadlineNs();
    }

    @Override
    public boolean isWaiting() {
        return outbox.dispatched().isWaiting();
    }

    @Override
    public DeferredResponse late() {
        return outbox.late();
    }
}
