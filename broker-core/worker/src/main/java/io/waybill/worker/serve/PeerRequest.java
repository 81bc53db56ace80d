package io.waybill.worker.serve;

import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.ServedBy;
import io.waybill.exchange.Exchange;
import io.waybill.exchange.HandlerStack;
import io.waybill.exchange.InnerCreation;
import io.waybill.exchange.RequestSource;
import io.waybill.handling.CallReports;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.host.Threads;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.RequestCounts;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerSlot;

/**
 * A request of a peer: from reading its record until its response is in the journal. Pooled, with everything that a
 * request needs, and reused.
 *
 * <p><b>Threads.</b> Handed from the poller to the handler's thread, and with a deferred response to the thread that
 * responds.
 */
final class PeerRequest implements RequestSource, HandlerExecutor.Abandonable {

    private final ServingContext context;
    private final RequestPool pool;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final PeerServices services;
    private final InboundMessage message;
    private final Exchange exchange;
    private final Attachments attachments;
    private final RequestTimes times = new RequestTimes();
    private final PeerResponse response;
    private final OpenRequest inFlight;
    private final RequestCounts counts;

    private PeerLink link;
    private long index;
    private Delivered delivered = Delivered.FIRST;
    private long handlerSequence;
    private ServedBy servedBy = ServedBy.NONE;
    // The polling thread while it runs the handler itself; unlike another thread that ends the request.
    private Thread inlineThread;
    private boolean freedInline;

    PeerRequest(ServingContext context, RequestPool pool) {
        this.context = context;
        this.pool = pool;
        this.services = new PeerServices(context, this);
        this.message = new InboundMessage(view, services::leftNs, this::senderName);
        this.response = new PeerResponse(context, this, pool);
        this.exchange = new Exchange(context.exchanges(), context.inner(), this, response);
        this.attachments =
                new Attachments(context, e -> context.exchanges().errors().notReleased(exchange.entry(), e));
        this.inFlight = pool.open(exchange);
        this.counts = new RequestCounts(context.counters().served(), view);
    }

    private CallReports reports() {
        return context.exchanges().reports();
    }

    // ---- the record

    MessageBuffer buffer() {
        return buffer;
    }

    @Override
    public RecordView view() {
        return view;
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

    /** Takes the request in the buffer. Its position must not count as read before this call. */
    void arrivedFrom(PeerLink peer, long atIndex, Delivered how) {
        link = peer;
        counts.open(peer.id(), peer.name());
        index = atIndex;
        delivered = how;
        times.parkedSinceNs = 0;
        inFlight.open(peer, atIndex, view.id());
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

    PeerResponse response() {
        return response;
    }

    RequestTimes times() {
        return times;
    }

    /** Returns the number under which its handler began it; 0 when none has. */
    long handlerSequence() {
        return exchange.hasBegun() ? handlerSequence : 0;
    }

    /** Returns the provider of the handler that was chosen last. */
    ServedBy servedBy() {
        return servedBy;
    }

    /** Opens the request for a handler that has counted it. */
    void admit(HandlerEntry chosen, long sequence, ReceivedTensors arrived) {
        if (servedBy != chosen.servedBy()) {
            servedBy = chosen.servedBy();
        }
        counts.name();
        attachments.open(arrived);
        handlerSequence = sequence;
        times.admitted();
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
        times.unconfirmedNs = reports().nowNs();
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
        queue();
    }

    /** Passes the request to the threads of its handler; fails it, and returns false, when they take none. */
    boolean queue() {
        times.queuedNs = reports().nowNs();
        return exchange.queue(this);
    }

    @Override
    public void run() {
        HandlerSlot slot = context.invocations().own();
        slot.beginTask();
        try {
            exchange.run();
        } finally {
            slot.endTask(reports());
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
        times.queuedNs = slot.polledSinceNs();
        times.begunNs = context.clock().wallNsAt(times.queuedNs);
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
            slot.endTask(reports());
        }
    }

    @Override
    public void beginning() {
        if (inlineThread == null) { // the polling thread has just done so
            times.begunNs = context.clock().wallNs();
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
            times.convertedNs = context.clock().wallNs();
        }
        return message;
    }

    @Override
    public void reportBegun(HandlerStack stack) {
        if (!reports().isEmpty() && reports().wantsBeforeHandlers()) {
            reports()
                    .begun(
                            ((HandlerSlot) stack).event(reports()).servedBy(servedBy.text()),
                            view,
                            times.parkedSinceNs,
                            times.queuedNs,
                            attachments.isForDevice());
        }
    }

    @Override
    public Failure damage() {
        return attachments.areCut() ? attachments.damage(link) : null;
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

    /**
     * Returns whether the calling thread runs the handler while it polls, and continues to use this object, which is
     * free now.
     */
    boolean isKeptInline() {
        freedInline = inlineThread == context.exchanges().threads().current();
        return freedInline;
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
    public PeerServices services() {
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
        return attachments.takeCreation();
    }

    @Override
    public String toString() {
        return "request " + MessageId.text(view.id()) + " of " + link;
    }
}
