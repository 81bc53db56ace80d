package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.RequestArrival;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.exchange.Exchange;
import io.waybill.exchange.HandlerServices;
import io.waybill.exchange.HandlerStack;
import io.waybill.exchange.InnerCreation;
import io.waybill.exchange.RequestSource;
import io.waybill.exchange.ResponseSink;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.RequestCounts;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerSlot;

/**
 * A request of a peer: from reading its record until its response is in the journal. Pooled, with everything that a request needs, and reused.
 *
 * <p><b>Threads.</b> Handed from the poller to the handler's thread, and with a deferred response to the thread that
 * responds.
 */
public final class PeerRequest implements RequestSource, ResponseSink, HandlerExecutor.Abandonable {

    private final ServingContext context;
    private final RequestPool pool;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final PeerServices services;
    private final InboundMessage message;
    private final Exchange exchange;
    private final Attachments attachments;
    private final ResponseBody body = new ResponseBody();
    private final OpenRequest inFlight;
    private final RequestCounts counts;

    private PeerLink link;
    private long index;
    private long parkedSinceNs; // on the monotonic clock; 0: it was not parked
    private Delivered delivered = Delivered.FIRST;
    private long handlerSequence;
    private long responder; // the number of the handler's provider; 0 without one
    private long unconfirmedNs; // since when it waited for owners of references, on the boot clock; 0: it did not
    private long queuedNs; // on the boot clock; 0: not queued
    private long convertedNs; // wall clock; 0: not converted
    private long begunNs; // wall clock; 0: not begun, or begun on the polling thread, which skips the clock read
    // The polling thread while it runs the handler itself; unlike another thread that ends the request.
    private Thread inlineThread;
    private boolean freedInline;

    public PeerRequest(ServingContext context, RequestPool pool) {
        this.context = context;
        this.pool = pool;
        this.services = new PeerServices(context, this);
        this.message = new InboundMessage(view, services::leftNs);
        this.exchange = new Exchange(context.exchanges(), context.inner(), this, this);
        this.attachments =
                new Attachments(context, e -> context.exchanges().errors().notReleased(exchange.entry(), e));
        this.inFlight = pool.open(exchange);
        this.counts = new RequestCounts(context.served(), view);
    }

    // ---- the record

    MessageBuffer buffer() {
        return buffer;
    }

    @Override
    public RecordView view() {
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

    @Override
    public Delivered delivered() {
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

    Exchange exchange() {
        return exchange;
    }

    /** Opens the request for a handler that has counted it. */
    void admit(HandlerEntry chosen, long sequence, ReceivedTensors arrived) {
        responder = chosen.responder();
        counts.name();
        attachments.open(arrived);
        handlerSequence = sequence;
        begunNs = 0;
        unconfirmedNs = 0;
        queuedNs = 0;
        convertedNs = 0;
        inlineThread = null;
        services.open(view.id(), view.deadlineNs());
        message.open(chosen.key(), delivered, attachments.tensors());
        exchange.admit(chosen, sequence);
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

    // ---- its handler's thread

    /**
     * Runs on the handler's threads once every owner knows of its reference, or fails when an owner does not confirm in
     * time.
     */
    void runWhenReady() {
        unconfirmedNs = context.exchanges().reports().nowNs();
        attachments.references().whenReady(failure -> {
            if (failure.isPresent()) {
                exchange.fail(new Failure(
                        failure.get().kind(),
                        failure.get().code(),
                        failure.get().getMessage()));
            } else {
                runElsewhere();
            }
        });
    }

    private void runElsewhere() {
        if (exchange.isExpired()) {
            exchange.failExpired("its references were known to their owners");
            return;
        }
        try {
            queue();
        } catch (ExecutorRefusedException e) {
            boolean gone = e.reason() == ExecutorRefusedException.Reason.CLOSED;
            exchange.fail(failure(gone ? ErrorCode.HANDLER_GONE : ErrorCode.BACK_PRESSURE, e.getMessage()));
        }
    }

    /** Passes the request to the threads of its handler. */
    void queue() throws ExecutorRefusedException {
        queuedNs = context.exchanges().reports().nowNs();
        exchange.entry().executor().execute(this);
    }

    @Override
    public void run() {
        HandlerSlot slot = context.invocations().own();
        slot.beginTask();
        try {
            exchange.run();
        } finally {
            slot.endTask(context.exchanges().reports());
        }
    }

    /** Ends the request in place of its handler, whose threads have ended. */
    @Override
    public void abandoned() {
        exchange.abandoned();
    }

    /**
     * Runs a plain handler on the thread of its bundle that polls; otherwise as {@link #runInline}.
     *
     * @return whether it is free; otherwise another thread owns it by now
     */
    boolean runPolled(HandlerSlot slot) {
        queuedNs = slot.polledSinceNs();
        begunNs = context.clock().wallNsAt(queuedNs);
        return runHere(slot);
    }

    /**
     * Runs the handler on the thread that polls, which may reuse this object for the next request if it is free then.
     *
     * @return whether it is free; otherwise another thread owns it by now
     */
    boolean runInline() {
        HandlerSlot slot = context.invocations().own();
        slot.beginInline();
        boolean pending = Threads.hideInterrupt();
        try {
            return runHere(slot);
        } finally {
            Threads.restoreInterrupt(pending);
            slot.endInline();
        }
    }

    private boolean runHere(HandlerSlot slot) {
        inlineThread = slot.thread();
        freedInline = false;
        slot.beginTask();
        try {
            Exchange.Called called = exchange.call(slot);
            if (called == Exchange.Called.BLOCKS) {
                inlineThread = null;
                runElsewhere();
            }
            return called == Exchange.Called.ENDED && freedInline;
        } finally {
            slot.endTask(context.exchanges().reports());
        }
    }

    @Override
    public void beginning() {
        if (inlineThread == null) { // the polling thread has just done so
            begunNs = context.clock().wallNs();
            context.faults().surface();
        }
    }

    @Override
    public boolean movesOn() {
        return inlineThread != null;
    }

    @Override
    public InboundMessage open(HandlerEntry by) throws RejectedMessageException {
        if (attachments.isForDevice()) { // here, and not on the poller: it may be slow
            attachments.convert();
            message.tensors(attachments.tensors());
            convertedNs = context.clock().wallNs();
        }
        return message;
    }

    @Override
    public void reportBegun(HandlerStack stack) {
        if (!context.exchanges().reports().isEmpty()
                && context.exchanges().reports().wantsBeforeHandlers()) {
            context.exchanges()
                    .reports()
                    .begun(
                            ((HandlerSlot) stack).event(context.exchanges().reports()),
                            view,
                            parkedSinceNs,
                            queuedNs,
                            attachments.isForDevice());
        }
    }

    /** Returns when the request passed the stages before its handler, which is about to be called or was. */
    RequestArrival arrival() {
        Clock clock = context.clock();
        long beganNs = begunNs != 0 ? begunNs : clock.wallNs();
        long confirmedNs = queuedNs != 0 ? clock.wallNsAt(queuedNs) : beganNs;
        long unparkedNs = unconfirmedNs != 0 ? clock.wallNsAt(unconfirmedNs) : confirmedNs;
        long readNs = parkedSinceNs != 0 ? clock.wallNs() - (clock.monotonicNs() - parkedSinceNs) : unparkedNs;
        return new RequestArrival(
                view.sentNs(), readNs, unparkedNs, confirmedNs, beganNs, convertedNs != 0 ? convertedNs : beganNs);
    }

    // ---- the outcome of one that no handler gets

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
        return Failure.of(code, context.exchanges().workerId(), text);
    }

    private void refuseAs(Failure failure) {
        RequestReferences references = attachments.references();
        if (references == null) {
            RequestReferences.decline(context.references(), view, link);
        } else {
            references.createFailed(failure);
        }
        context.responses().fail(this, 0, new ResponseBody.OfError(failure));
        inFlight.close();
        exchange.endInterception();
        exchange.withdraw();
        ended(release(), false);
    }

    // ---- the outcome of its exchange

    @Override
    public Failure damage() {
        return attachments.areCut()
                ? failure(
                        ErrorCode.PEER_CORRUPT,
                        "the segment of worker " + link
                                + " that the request's tensors lie in was cut short while they were in use")
                : null;
    }

    @Override
    public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
        try {
            RequestReferences references = attachments.references();
            OutgoingResponse response = composed;
            Failure why = failed;
            if (attachments.creates()) {
                response = references.ended(composed, failed);
                why = null;
            } else if (references != null && failed == null) {
                references.ended(ErrorCode.NO_RESPONSE, "no message inside its request created the value");
            } else if (references != null) {
                references.ended(failed.code(), failed.text());
            }
            if (why == null) {
                body.open(response, begunNs, responder, services.observed());
                return context.responses().send(this, handlerSequence, body) && failed == null;
            }
            ResponseBody.OfError error = new ResponseBody.OfError(why, begunNs, services.observed(), responder);
            context.responses().fail(this, handlerSequence, error);
            return false;
        } finally {
            body.close();
            inFlight.close(); // the response is in the journal
            if (!returned) {
                context.faults().surface(); // the thread may be one of the program
            }
        }
    }

    @Override
    public void giveUp() {
        attachments.giveUp();
    }

    @Override
    public boolean release() {
        boolean isFree = attachments.close();
        message.close();
        services.close();
        link = null;
        return isFree;
    }

    @Override
    public void ended(boolean reusable, boolean returned) {
        if (!reusable) {
            pool.drop(this);
        } else if (returned && inlineThread == Thread.currentThread()) { // it goes on to use this object
            freedInline = true;
        } else {
            pool.give(this);
        }
    }

    @Override
    public void detached() {
        pool.drop(this);
    }

    /** Returns the flags of the response's record. */
    int flags() {
        return delivered == Delivered.AGAIN ? Envelope.ACROSS_INCARNATIONS : 0;
    }

    // ---- RequestSource

    @Override
    public long id() {
        return services.id();
    }

    @Override
    public long deadlineNs() {
        return services.deadlineNs();
    }

    @Override
    public boolean isNested() {
        return view.parent() != MessageId.NONE;
    }

    @Override
    public CallContext context() {
        return view.context();
    }

    @Override
    public HandlerServices services() {
        return services;
    }

    @Override
    public String senderName() {
        return link.name();
    }

    @Override
    public boolean isFromSelf() {
        return link.isSelf();
    }

    @Override
    public InnerCreation takeCreation() {
        RequestReferences references = attachments.references();
        return references == null ? null : references.takeCreation();
    }

    @Override
    public String toString() {
        return "request " + MessageId.text(view.id()) + " of " + link;
    }
}
