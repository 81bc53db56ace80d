package io.waybill.exchange;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.ServedBy;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Message that a handler dispatched from inside the one that it handles. It ends twice: for the outer handler, with one
 * outcome, which is a failure once the deadline passed; and for the inner one, when it is done. Pooled.
 *
 * <p><b>Threads.</b> Belongs to the dispatching thread, then to the threads of its {@link Exchange}.
 */
final class InnerRequest implements RequestSource, ResponseSink, HandlerSearch.Seeker {

    private final InnerRequests home;
    private final InnerMessage inner = new InnerMessage(deadlineNs -> services().leftNs(deadlineNs));
    private final Exchange exchange;
    private final InnerOutcome outcome;

    private Exchange outer;
    private HandlerEntry outerEntry; // stays when the outer request ends first
    private long number;
    private long deadlineNs;
    private InnerCreation creation; // null when it creates no value
    private boolean allowed; // whether the access policies have allowed it
    private HandlerStack seeking; // stack of the thread that searches for its handler
    private boolean inside; // whether its handler runs inside the dispatching method
    // The next fields are left by the handler's end for the outcome.
    private Response given;
    private Failure why;

    InnerRequest(InnerRequests home) {
        this.home = home;
        this.outcome = new InnerOutcome(this, home);
        this.exchange = new Exchange(home.context(), home, this, this);
    }

    /** Begins a request of the calling thread; {@code toComplete} is null when that thread waits. */
    void open(
            Exchange enclosing,
            CallContext current,
            CompletableFuture<Response> toComplete,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        inner.open(enclosing.source(), type, payload, tensors, references);
        outer = enclosing;
        outerEntry = enclosing.entry();
        deadlineNs = enclosing.deadlineNs();
        number = outcome.open(toComplete, current);
        allowed = false;
        given = null;
        why = null;
        creation = type.isCreating() ? enclosing.source().takeCreation() : null;
        enclosing.dispatched().began();
    }

    // ---- before the call of its handler

    /**
     * Returns this request for the search of its handler.
     *
     * @param onThread of the calling thread
     */
    HandlerSearch.Seeker seeks(HandlerStack onThread) {
        seeking = onThread;
        return this;
    }

    @Override
    public boolean hasThread(HandlerEntry by) {
        boolean onDispatcher = outcome.isOnDispatcher();
        if (onDispatcher && by.neverBlocks()) {
            return true;
        }
        boolean inline = seeking.isInline();
        if (onDispatcher && outcome.isBlocking() && inline) {
            throw Failure.mustNotWait();
        }
        return onDispatcher && (home.isSequential() || !inline) || by.executor().hasRoom();
    }

    @Override
    public HandlerEntry outer() {
        return outerEntry;
    }

    @Override
    public Exchange exchange() {
        return exchange;
    }

    HandlerEntry outerEntry() {
        return outerEntry;
    }

    InnerOutcome outcome() {
        return outcome;
    }

    /**
     * Forgets the outer handler and its thread before this object is pooled: it would keep the classes of their bundle.
     */
    void forget() {
        outerEntry = null;
        seeking = null;
    }

    long number() {
        return number;
    }

    int memoryBytes() {
        return inner.memoryBytes();
    }

    /** Returns whether it creates the value of a reference. */
    boolean isCreating() {
        return creation != null;
    }

    boolean isAllowed() {
        return allowed;
    }

    void allow() {
        allowed = true;
    }

    /**
     * Gives the request to a handler that has counted it.
     *
     * @param here whether the dispatching thread runs it at once
     */
    void admit(HandlerEntry chosen, boolean here) {
        inside = here;
        exchange.admit(chosen, number);
    }

    /** Ends a request that no handler got. */
    @Override
    public void refuse(Failure refused) {
        if (creation != null) {
            creation.createFailed(refused);
        }
        reportEnded(refused, false);
        inner.close();
        outer.dispatched().ended();
        outcome.complete(number, null, refused, true, false);
    }

    /** Withdraws a request that no handler got, and whose caller gets an exception instead of an outcome. */
    void takeBack() {
        inner.close();
        outer.dispatched().ended();
        outcome.takeBack();
    }

    // ---- its end

    @Override
    public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
        OutgoingResponse response = composed;
        why = failed;
        if (creation != null) {
            response = creation.ended(composed, failed);
            why = null;
        }
        if (why == null) {
            try {
                given = DispatchedResponse.take(inner, response, home.context().workerId());
            } catch (RuntimeException | Error e) { // the heap may be full
                why = Failure.threw(home.context().workerId(), e);
            }
        }
        reportEnded(why, returned);
        return why == null;
    }

    @Override
    public void ended(boolean reusable, boolean returned) {
        boolean isInside = inside && returned;
        if (isInside) {
            outer.dispatched().endedInside();
        } else {
            home.ended(number);
            outer.dispatched().ended();
        }
        Response response = given;
        given = null;
        outcome.complete(number, response, why, reusable, isInside); // last: this object may be reused afterwards
    }

    @Override
    public void detached() {
        home.ended(number);
        outcome.complete(number, given, why, false, false);
    }

    private void reportEnded(Failure failed, boolean here) {
        if (!home.context().reports().isEmpty()) {
            HandlerEntry by = exchange.entry();
            ServedBy served = by == null ? ServedBy.NONE : by.servedBy();
            ErrorCode error = failed == null ? null : failed.code();
            home.context().reports().respondedInside(view(), depth(), served, error, here);
        }
    }

    // ---- RequestSource

    @Override
    public RecordView view() {
        return inner.view();
    }

    @Override
    public long id() {
        return exchange.sequence() == 0 ? MessageId.NONE : view().id();
    }

    @Override
    public long deadlineNs() {
        return deadlineNs;
    }

    @Override
    public boolean isNested() {
        return true;
    }

    @Override
    public Delivered delivered() {
        return outer.source().delivered();
    }

    @Override
    public CallContext context() {
        return outcome.context();
    }

    @Override
    public HandlerServices services() {
        return outer.source().services();
    }

    @Override
    public InboundMessage open(HandlerEntry by) {
        return inner.openFor(by.key(), delivered());
    }

    @Override
    public void reportBegun(HandlerStack stack) {
        if (!home.context().reports().isEmpty()) {
            home.context()
                    .reports()
                    .begunInside(view(), depth(), exchange.entry().servedBy(), inner.tensorCount());
        }
    }

    @Override
    public synchronized void giveUp() { // by the threads that abandon it or respond too late
        inner.close();
    }

    @Override
    public boolean release() {
        inner.close();
        return true;
    }

    @Override
    public String senderName() {
        return outer.source().senderName();
    }

    @Override
    public boolean isFromSelf() {
        return outer.source().isFromSelf();
    }

    @Override
    public InnerCreation takeCreation() {
        return outer.source().takeCreation();
    }

    @Override
    public int depth() {
        return outer.source().depth() + 1;
    }

    @Override
    public String path() {
        return outer.source().path() + " > " + view().type();
    }

    @Override
    public String toString() {
        return "a message inside request " + MessageId.text(view().id());
    }
}
