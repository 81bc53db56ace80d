package io.waybill.worker;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.LateResponse;
import io.waybill.api.Outbox;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Rpc;
import io.waybill.api.Tensor;
import io.waybill.api.TensorBuffers;
import io.waybill.api.Value;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.Outcome;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * One request on its way through its handler: the record, what the handler sees of it, and what it answers. Pooled: from being read
 * until the response is in the journal it belongs to this request, then to the next.
 *
 * <p><b>Threads.</b> Handed from the poller to the handler's thread, and with {@link #later} to whoever answers.
 */
final class Inbound implements HandlerExecutor.Abandonable, Invocation, Outbox {

    private final ServingContext context;
    private final InboundPool pool;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message;
    private final Consumer<Throwable> releaseErrors = this::releaseFailed;
    private final ResponseBody response = new ResponseBody(releaseErrors);
    private final NestedCaller caller;
    private Rpc rpc; // on behalf of what the caller is; null until a handler wants it
    private Observer observer; // of the handler; null until it wants to see something
    // The number of the request that has no outcome yet; 0 once somebody took it upon himself to give it one.
    private final AtomicLong open = new AtomicLong();

    private final OpenRequest inHand;
    private PeerLink link;
    private long index;
    private Delivered delivered = Delivered.FIRST;
    private HandlerEntry entry;
    private long handlerSequence;
    private long begunNs; // by the wall clock; 0: not begun, or on the thread that polls, which would pay for the look
    private LateAnswer late;
    // Written by the handler's thread and by the one that ends its executor, each read by the other.
    private final AtomicBoolean begun = new AtomicBoolean();
    private ReceivedTensors tensors; // null without
    private RequestReferences references; // null without
    // The polling thread while it runs the handler itself; another one that ends the request sees that it is not the
    // same.
    private Thread inlineThread;
    private boolean freedInline;
    private Thread inHandler; // the thread that is inside of the handler; null for none

    Inbound(ServingContext context, InboundPool pool) {
        this.context = context;
        this.pool = pool;
        this.message = new InboundMessage(view, deadlineNs -> observer().leftNs(deadlineNs));
        this.caller = new NestedCaller(context.calls());
        this.inHand = pool.open(this);
    }

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

    /** The record in the buffer is a request from this peer, which must not count as read before this is called. */
    void arrivedFrom(PeerLink peer, long atIndex, Delivered how) {
        link = peer;
        index = atIndex;
        delivered = how;
        inHand.open(peer, atIndex, view.id());
    }

    /** Its request waits elsewhere: it is free. */
    void leave() {
        inHand.close();
        pool.give(this);
    }

    OpenRequest inHand() {
        return inHand;
    }

    /** Whether an earlier incarnation may have begun the request. */
    Delivered delivered() {
        return delivered;
    }

    /** Of its response. */
    private int flags() {
        return delivered == Delivered.AGAIN ? Envelope.ACROSS_INCARNATIONS : 0;
    }

    /** Where the record is in the peer's requests. */
    long index() {
        return index;
    }

    /** The handler that will run; it was counted in. */
    void admit(HandlerEntry chosen, long sequence, ReceivedTensors arrived) {
        entry = chosen;
        tensors = arrived;
        handlerSequence = sequence;
        begunNs = 0;
        begun.lazySet(false);
        late = null;
        response.reset();
        message.open(chosen.key(), delivered, arrived == null ? List.of() : arrived.tensors());
        caller.open(view.id(), view.deadlineNs());
        open.lazySet(sequence); // last: who sees it sees the rest
    }

    @Override
    public void run() {
        if (isExpired()) { // while it waited for a thread, or this process was stopped
            settleExpired("a handler began");
        } else {
            run(context.invocations().own());
        }
    }

    private boolean isExpired() {
        return view.deadlineNs() != 0 && context.clock().bootNs() >= view.deadlineNs();
    }

    private void settleExpired(String before) {
        settle(Failure.expired(view, context.clock(), before));
    }

    /** Whether a converter has to put its tensors on a device before the handler runs. */
    boolean isForDevice() {
        return tensors != null && tensors.isForDevice();
    }

    /**
     * Reads the request's references, which are this worker's from now on.
     *
     * @throws RejectedMessageException when they are malformed, or the request was given up
     */
    void takeReferences() throws RejectedMessageException {
        references = RequestReferences.take(context.references(), view, link);
        message.references(references.held());
    }

    /** Whether the handler must not begin yet: some owner does not know of its reference. */
    boolean mustWait() {
        return references != null && !references.isReady();
    }

    /** Runs on the handler's threads once every owner knows of its reference, or fails when one does not get to know. */
    void runWhenReady() {
        references.whenReady(failure -> {
            if (failure.isPresent()) {
                settle(failure.get().kind(), failure.get().code(), failure.get().getMessage());
            } else {
                runElsewhere();
            }
        });
    }

    private void runElsewhere() {
        if (isExpired()) {
            settleExpired("its references were known to their owners");
            return;
        }
        try {
            entry.executor().execute(this);
        } catch (ExecutorRefusedException e) {
            boolean gone = e.reason() == ExecutorRefusedException.Reason.CLOSED;
            settle(
                    ErrorKind.UNKNOWN_ERROR,
                    gone ? ErrorCode.HANDLER_GONE : ErrorCode.BACK_PRESSURE,
                    context.responses().nodeError(e.getMessage()));
        }
    }

    /** Calls the handler and sends its response. */
    private void run(InvocationSlot slot) {
        if (inlineThread == null) {
            begunNs = context.clock().wallNs();
        }
        begun.lazySet(true);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ClassLoader wanted = entry.contextClassLoader();
        if (wanted != before) {
            thread.setContextClassLoader(wanted);
        }
        if (inlineThread == null) { // the polling thread has just done so
            context.faults().surface();
        }
        Throwable thrown = null;
        try {
            handle(slot);
        } catch (Throwable e) { // the boundary around a handler: whatever it throws costs its own request only
            thrown = e;
        } finally {
            if (wanted != before) {
                thread.setContextClassLoader(before);
            }
        }
        // behind the boundary: from here on the request ends, once
        if (thrown == null) {
            returned();
        } else {
            threw(thrown);
        }
    }

    private void handle(InvocationSlot slot) throws RejectedMessageException {
        Invocation before = slot.enter(this);
        inHandler = Thread.currentThread();
        try {
            if (isForDevice()) { // here, and not on the poller: it may take its time
                tensors.convert();
                message.tensors(tensors.tensors());
            }
            entry.handler().handle(message, this);
        } finally {
            inHandler = null;
            slot.leave(before);
        }
    }

    /**
     * Runs on the thread that polls, which may use this object for the next request if it is free then.
     *
     * @return whether it is free; otherwise it is somebody else's by now
     */
    boolean runInline() {
        inlineThread = Thread.currentThread();
        freedInline = false;
        InvocationSlot slot = context.invocations().own();
        slot.beginInline();
        try {
            run(slot);
        } finally {
            slot.endInline();
        }
        boolean free = freedInline;
        inlineThread = null;
        return free;
    }

    /** Its outcome was given elsewhere: gives back what it holds. */
    private void giveUp() {
        response.reset();
        if (tensors != null) {
            tensors.release(releaseErrors);
        }
        if (references != null) {
            references.release();
        }
    }

    private void releaseFailed(Throwable e) {
        context.handlerErrors().logRelease(entry, e);
    }

    private void returned() {
        if (late != null) {
            late.handlerReturned();
        } else if (response.isEmpty()) {
            settle(Failure.noResponse(context.responses().workerId(), entry));
        } else {
            settle();
        }
    }

    private void threw(Throwable e) {
        if (late != null) {
            late.handlerThrew();
        }
        if (e instanceof RejectedMessageException refusal) {
            settle(Failure.rejected(context.responses().workerId(), refusal));
        } else if (tensorsWereCut()) {
            settleCut();
        } else {
            context.handlerErrors().log(entry, e);
            settle(Failure.threw(context.responses().workerId(), e));
        }
    }

    /** Answers without a handler, and is free again. */
    void refuse(ErrorKind kind, ErrorCode code, String text) {
        context.transit().discard(view, link);
        refuseDecoded(kind, code, text);
    }

    /** The same when its tensors were decoded, or could not be. */
    void refuseDecoded(ErrorKind kind, ErrorCode code, String text) {
        if (references == null) {
            RequestReferences.decline(context.references(), view, link);
        } else {
            references.createFailed(kind, code, text);
        }
        context.responses()
                .fail(
                        link,
                        view.id(),
                        view.parent(),
                        0,
                        flags(),
                        kind,
                        code,
                        // a timeout reads the same whichever side notices it
                        kind == ErrorKind.TIMEOUT ? text : context.responses().nodeError(text));
        free();
    }

    /** Whether the caller cut the segment that its tensors lie in: what the handler made of them is worth nothing. */
    private boolean tensorsWereCut() {
        if (tensors == null || !tensors.areCut()) {
            return false;
        }
        context.faults().surface();
        return true;
    }

    private void settleCut() {
        settle(
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.PEER_CORRUPT,
                context.responses()
                        .nodeError("the segment of worker " + link
                                + " that the request's tensors lie in was cut short while they were in use"));
    }

    private void settle() {
        if (tensorsWereCut()) {
            settleCut();
            return;
        }
        settleWith(response);
    }

    private void settleWith(ResponseBody body) {
        if (open.compareAndSet(handlerSequence, 0)) {
            Outcome outcome = Outcome.FAILED;
            try {
                outcome = respond(body) ? Outcome.DONE : Outcome.FAILED;
            } finally {
                ended(outcome);
            }
        } else {
            giveUp(); // abandoned: the response was sent without this thread
        }
    }

    private void settle(Failure failure) {
        settle(failure.kind(), failure.code(), failure.text());
    }

    private void settle(ErrorKind kind, ErrorCode code, String text) {
        if (open.compareAndSet(handlerSequence, 0)) {
            try {
                answerFailure(kind, code, text);
            } finally {
                ended(Outcome.FAILED);
            }
        } else {
            giveUp(); // likewise
        }
    }

    /** Returns whether the body was the response. */
    private boolean respond(ResponseBody body) {
        if (references != null && references.creates()) {
            references.create(body);
        }
        return send(body);
    }

    private boolean send(ResponseBody body) {
        body.begunAt(begunNs);
        if (observer != null) {
            body.observed(observer.end());
        }
        return context.responses().send(link, view.id(), view.type(), view.parent(), handlerSequence, flags(), body);
    }

    private void answerFailure(ErrorKind kind, ErrorCode code, String text) {
        if (references != null && references.creates()) {
            references.createFailed(kind, code, text);
            ResponseBody body = new ResponseBody(releaseErrors);
            references.nameCreated(body);
            send(body);
        } else {
            byte[] observed = observer == null ? Observations.NO_BYTES : observer.end();
            Answers.Error error = new Answers.Error(kind, code, text, begunNs, observed);
            context.responses().fail(link, view.id(), view.parent(), handlerSequence, flags(), error);
        }
    }

    private void ended(Outcome outcome) {
        HandlerEntry ended = entry;
        try {
            response.reset();
            free();
        } finally { // otherwise a drain of this handler would never end
            ended.end(outcome);
        }
    }

    private void free() {
        inHand.close(); // its response is in the journal
        boolean reusable = tensors == null || tensors.release(releaseErrors) == ReceivedTensors.RecordCopy.FREE;
        tensors = null;
        if (references != null) {
            references.release();
            references = null;
        }
        message.close();
        caller.close();
        entry = null;
        link = null;
        late = null;
        if (observer != null) {
            observer = null;
        }
        if (reusable && inlineThread == Thread.currentThread()) {
            freedInline = true;
        } else if (reusable) {
            pool.give(this);
        } else {
            pool.drop(this);
        }
    }

    @Override
    public void abandoned() {
        abandon(handlerSequence);
    }

    @Override
    public void abandon(long sequence) {
        // its thread may still be in the handler: this object is not used again
        if (sequence != 0 && open.compareAndSet(sequence, 0)) {
            HandlerEntry ended = entry;
            try {
                if (!begun.get()) {
                    giveUp();
                }
                Failure why = abandonedBecause(ended);
                answerFailure(why.kind(), why.code(), why.text());
            } finally {
                inHand.close();
                pool.drop(this);
                ended.end(Outcome.FAILED);
            }
        }
    }

    /** The deadline when that has passed, as its caller was told; otherwise the handler. */
    private Failure abandonedBecause(HandlerEntry by) {
        if (isExpired()) {
            return Failure.expired(view, context.clock(), "its response came");
        }
        String text = by.provider() + " did not finish " + by.key() + " before it left";
        return new Failure(
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.HANDLER_STUCK,
                context.responses().nodeError(text));
    }

    // ---- Invocation, read by the housekeeper's thread

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
        return caller.id();
    }

    @Override
    public long deadlineNs() {
        return caller.deadlineNs();
    }

    @Override
    public LateAnswer late() {
        return late;
    }

    // ---- Outbox

    @Override
    public Body response() {
        return open().fields();
    }

    @Override
    public void respond(Value value) {
        open().value(value);
    }

    @Override
    public void respond(ByteBuffer payload) {
        open().raw(payload, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        open().raw(payload, tensors);
    }

    /** The response, for the handler's thread alone: this object serves other requests behind it. */
    private ResponseBody open() {
        if (inHandler != Thread.currentThread()) {
            throw new IllegalStateException(
                    "an outbox takes a response from the thread of its handler, until that returned;"
                            + " outbox.later() gives what any thread may respond with afterwards");
        }
        return response;
    }

    @Override
    public LateResponse later() {
        open();
        if (late == null) {
            HandlerEntry of = entry;
            late = new LateAnswer(
                    this, context.responses(), e -> context.handlerErrors().logRelease(of, e));
        }
        return late;
    }

    @Override
    public Caller caller() {
        return caller;
    }

    @Override
    public Rpc rpc() {
        if (rpc == null) {
            rpc = context.references().rpcFor(caller);
        }
        return rpc;
    }

    @Override
    public TensorBuffers buffers() {
        return context.transit().pool();
    }

    @Override
    public InstantSource clock() {
        return observer();
    }

    @Override
    public RandomGenerator random() {
        return observer().random();
    }

    private Observer observer() {
        if (observer == null) {
            observer = new Observer(context.clock(), view.id());
        }
        return observer;
    }

    /**
     * Ends the request with its late response.
     *
     * @param failure null when the body is the response
     */
    void settleLate(ResponseBody body, Failure failure) {
        try {
            if (tensorsWereCut()) {
                settleCut();
            } else if (failure != null) {
                settle(failure);
            } else {
                settleWith(body);
            }
        } finally {
            context.faults().surface(); // the thread may be one of the program
        }
    }
}
