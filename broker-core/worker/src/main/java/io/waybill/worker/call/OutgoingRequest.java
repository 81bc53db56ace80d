package io.waybill.worker.call;

import io.waybill.api.Request;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.handling.Route;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.publish.Publication;
import io.waybill.worker.reference.SentReferences;

/**
 * A request from the call of the program until it is published or taken back. Each thread has one, which it reuses; a
 * call inside a call, from a converter or a listener, creates another one. Holds no references while it is not used.
 *
 * <p>Belongs to the thread that sends.
 */
final class OutgoingRequest implements Publication {

    private CallingContext calling; // null while it is not used
    private long spanSalt;
    // State of the call:
    private Request request;
    private ResponseListener listener;
    private SentReferences.Creation creation; // null when the request creates no value
    private CallContext callers;
    private CallContext context; // context that is recorded
    private long parent;
    private long nowNs; // begin of the call, on CLOCK_BOOTTIME
    private long deadlineNs;
    private long timeoutNs;
    // State of the attempt to send it to one incarnation of the receiver:
    private PeerLink link;
    private Plan plan;
    private SentReferences sharing;
    private OperationCounts counts;
    private int length;
    private int flags;
    private long wallNs;
    private long id;

    private OutgoingRequest() {}

    /**
     * Returns the calling thread's own object, or another one while that is in use. {@link #close} ends the use.
     *
     * @param spanSalt the {@link #spanSalt} of the worker
     */
    static OutgoingRequest of(ThreadLocal<OutgoingRequest> owned, CallingContext calling, long spanSalt) {
        OutgoingRequest own = owned.get();
        if (own == null) {
            own = new OutgoingRequest();
            owned.set(own);
        }
        OutgoingRequest free = own.calling == null ? own : new OutgoingRequest();
        free.calling = calling;
        free.spanSalt = spanSalt;
        return free;
    }

    /**
     * Sets the call.
     *
     * @param parent id of the request whose handler makes the call
     * @param creating creates the reference to the value that the request creates; null when it creates none
     */
    void call(Request made, ResponseListener completed, long parentId, SentReferences.Creation creating) {
        request = made;
        listener = completed;
        parent = parentId;
        creation = creating;
    }

    /** Notifies a caller that waits that this request is written next. */
    void beforeWrite() {
        if (listener instanceof BlockingCall waiting) {
            waiting.beforeWrite();
        }
    }

    /**
     * Sets the contexts.
     *
     * @param ofListener current for the listener
     * @param onRecord recorded with the request
     */
    void contexts(CallContext ofListener, CallContext onRecord) {
        callers = ofListener;
        context = onRecord;
    }

    /**
     * Sets the begin and the deadline of the call, on CLOCK_BOOTTIME.
     *
     * @param parentDeadlineNs 0 for none
     */
    void begin(long atNs, long parentDeadlineNs) {
        nowNs = atNs;
        timeoutNs = calling.settings().timeoutNs(request);
        deadlineNs = CallSettings.deadlineNs(atNs, timeoutNs);
        if (parentDeadlineNs != 0 && (deadlineNs == 0 || parentDeadlineNs < deadlineNs)) {
            deadlineNs = parentDeadlineNs;
            timeoutNs = Math.max(1, parentDeadlineNs - atNs);
        }
    }

    Request request() {
        return request;
    }

    long deadlineNs() {
        return deadlineNs;
    }

    long timeoutNs() {
        return timeoutNs;
    }

    /** Returns whether the request waits for the successor of a receiver that has left before it begins. */
    boolean mayBeLeft() {
        return Route.mayBeLeft(request.type().code());
    }

    // ---- one attempt

    /** Begins an attempt: {@link #takeBack} ends it when it is not published. */
    void attempt(PeerLink to) {
        link = to;
        plan = null;
        sharing = null;
    }

    /** Prepares the parts of the record beside the payload. */
    void attach(Plan tensors) {
        plan = tensors;
        sharing = request.references().isEmpty() && creation == null
                ? null
                : SentReferences.of(request.references(), link, creation);
        CallSettings settings = calling.settings();
        length = settings.length(request, plan, sharing, context);
        flags = settings.flags(request, plan, sharing, link);
        counts = calling.counters().called().of(request, link.id(), link.name());
    }

    int length() {
        return length;
    }

    OperationCounts counts() {
        return counts;
    }

    /** Returns whether the request is to be sent to the successor of its receiver, which has left. */
    boolean isLeft() {
        return link.mayBeSucceeded() && mayBeLeft();
    }

    /**
     * Claims an id and a slot in the table of calls in flight; null when there is none. Under the lock of the appender.
     */
    PendingCalls.Slot claim() {
        wallNs = calling.publishing().clock().wallNsAt(nowNs);
        PendingCalls.Slot slot =
                calling.pending().claim(listener, callers, link, length, flags, counts, wallNs, deadlineNs, timeoutNs);
        if (slot != null) {
            id = slot.claimedId();
            link.flow().sent(length);
        }
        return slot;
    }

    long wallNs() {
        return wallNs;
    }

    /** Undoes the preparation of a request that was not published. */
    void takeBack() {
        Plan tensors = plan;
        SentReferences references = sharing;
        plan = null;
        sharing = null;
        SentReferences.takeBack(references, tensors);
    }

    // ---- the publication

    @Override
    public long id() {
        return id;
    }

    @Override
    public PeerLink to() {
        return link;
    }

    @Override
    public Plan plan() {
        return plan;
    }

    @Override
    public void compose(MessageBuffer record) {
        int payloadLength = CallSettings.payloadLength(request, sharing, context);
        int sectionLength = plan == null ? 0 : plan.sectionLength(payloadLength);
        record.begin(request.type(), id, calling.publishing().worker().id(), link.id(), payloadLength, sectionLength)
                .flags(flags)
                .deadlineNs(deadlineNs)
                .sentNs(wallNs)
                .parent(parent)
                .dueNs(CallSettings.deadlineNs(wallNs, timeoutNs))
                .epoch(link.epoch())
                .payload(request.payloadArray(), 0, request.payloadLength());
        if (context != CallContext.EMPTY) {
            record.context(context, spanId(), request.payloadLength());
        }
        if (sharing != null) {
            sharing.write(record, payloadLength - sharing.length());
        }
        if (plan != null) {
            plan.write(record, payloadLength);
            record.tensorCount(plan.tensorCount());
        }
    }

    @Override
    public void count(int recordBytes) {
        calling.counters().countSent();
        counts.begun();
    }

    @Override
    public void expectOutcome() {
        calling.poller().onDeadline(deadlineNs);
    }

    @Override
    public void report() {
        if (!calling.publishing().reports().isEmpty()) {
            long span = spanId();
            calling.publishing().reports().appended(request, id, parent, link.id(), length, nowNs, context, span);
        }
    }

    /**
     * Returns the id of the span that the call is; 0 for none. It is a permutation of the message id, so that no two
     * calls of a worker have the same span id in a trace.
     */
    private long spanId() {
        TraceContext trace = context.trace().orElse(null);
        if (trace == null) {
            return 0;
        }
        long span = mixed(id ^ spanSalt ^ trace.traceIdLow());
        return span == 0 ? 1 : span;
    }

    /**
     * Returns the salt that makes the spans of a worker differ from the spans of a worker in another home that has the
     * same message ids.
     *
     * @param joinedNs wall clock
     */
    static long spanSalt(long joinedNs) {
        return mixed(joinedNs);
    }

    /** Returns a permutation of all values, in which each bit depends on all others (that of SplitMix64). */
    private static long mixed(long value) {
        long z = value + 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** Ends the use. */
    void close() {
        calling = null;
        request = null;
        listener = null;
        creation = null;
        callers = null;
        context = null;
        link = null;
        plan = null;
        sharing = null;
        counts = null;
    }
}
