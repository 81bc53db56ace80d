package io.waybill.handling;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.intercept.InterceptorChain;
import io.waybill.intercept.InterceptorTable;
import io.waybill.intercept.Interceptors;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Interceptors around the handler of one request, in a worker or a replay. Contains their failures: their exceptions
 * fail this request, and are charged to them. Reusable.
 *
 * <p><b>Threads.</b> Belongs to the handler's thread, and with a deferred response to the thread that responds.
 * {@link #end} is called by any thread.
 */
public final class HandlerInterception implements HandledMessage {

    private static final int FIRST_CAPACITY = 4;

    private final Interceptors<HandlerInterceptor> interceptors;
    private final int workerId;
    private final AtomicBoolean ended = new AtomicBoolean(true);
    private InterceptorChain<HandlerInterceptor> chain; // null when no interceptor is concerned
    private RecordView request;
    private String servedBy = ""; // name of the handler's provider
    private Object[] attachments = new Object[FIRST_CAPACITY];
    private int at; // number of the interceptor whose after method is called
    private int first; // number from which on outwards all were called before the handler
    private OutgoingResponse response; // null when the outcome is an error, or outside of an after method
    private Failure failure; // null when the response is the outcome
    private Thread inside; // thread that is inside an after method; null for none

    /**
     * Creates an object for requests of one worker.
     *
     * @param workerId the worker that serves them, for the texts of errors
     */
    public HandlerInterception(Interceptors<HandlerInterceptor> interceptors, int workerId) {
        this.interceptors = interceptors;
        this.workerId = workerId;
    }

    /**
     * Begins a request: finds its interceptors and counts it in at each of them.
     *
     * @param isNested whether a request in flight may wait for this one: the leaving interceptors may wait for that
     * @return false while one of the interceptors is being replaced; the request is counted in nowhere then
     */
    public boolean open(RecordView of, boolean isNested) {
        request = of;
        while (true) {
            InterceptorTable<HandlerInterceptor> table = interceptors.table();
            chain = Route.isOfReferences(of.typeCode())
                    ? null
                    : table.find(of.typeCode(), of.buffer().memory(), Envelope.HEADER_LENGTH, of.payloadLength());
            if (chain == null || chain.begin() || isNested && chain.beginNested()) {
                break;
            }
            if (interceptors.table() == table) { // otherwise an interceptor was withdrawn, and has left the new table
                chain = null;
                return false;
            }
        }
        first = chain == null ? 0 : chain.size();
        if (attachments.length < first) {
            attachments = new Object[first];
        }
        ended.setRelease(chain == null); // before the write the request is not known as intercepted
        return true;
    }

    /**
     * Calls the handler between its interceptors; the ones after it are called later when the response is deferred. An
     * exception of the handler is rethrown.
     *
     * @param thread context of the calling thread
     * @return the failure that interceptors decided; null when they decided none
     */
    public Failure handle(HandlerEntry entry, InboundMessage message, ComposedOutbox outbox, ThreadContext thread)
            throws Exception {
        servedBy = entry.servedBy().text();
        Failure failed = chain == null || !chain.isIntercepting() ? null : before(message, outbox);
        ContextScope before = thread.mark();
        try {
            if (failed == null && !hasOutcome(outbox)) {
                entry.handler().handle(message, outbox);
            }
            thread.leave(before); // scopes that the handler left open; scopes of interceptors stay
        } catch (Throwable e) { // seen by the interceptors, and then by the boundary around the handler
            thread.leave(before);
            after(
                    null,
                    e instanceof RejectedMessageException rejection
                            ? Failure.rejected(workerId, rejection)
                            : Failure.threw(workerId, e));
            throw e;
        }
        if (failed != null) {
            return after(null, failed);
        }
        if (outbox.isDeferred()) {
            return null;
        }
        if (outbox.composed().isEmpty()) { // the boundary reports it
            after(null, Failure.noResponse(workerId, entry));
            return null;
        }
        return after(outbox.composed(), null);
    }

    private static boolean hasOutcome(ComposedOutbox outbox) {
        return outbox.isDeferred() || !outbox.composed().isEmpty();
    }

    /**
     * Calls the interceptors before the handler, the outermost first. Returns the failure of the request; null for
     * none.
     */
    private Failure before(InboundMessage message, ComposedOutbox outbox) {
        boolean live = first == 0 || PassedObjects.areLive(message.tensors());
        while (first > 0 && !hasOutcome(outbox)) {
            int next = first - 1;
            HandlerInterceptor interceptor = chain.get(next).interceptor();
            boolean pending = Threads.hideInterrupt();
            try {
                if (interceptor != null) {
                    interceptor.before(message, outbox);
                    attachments[next] = message.takeAttached();
                }
                first = next; // it returned, so it sees the outcome, whatever that is
                live = PassedObjects.requireLive(live, message.tensors());
            } catch (Throwable e) { // the boundary around an interceptor
                return failureOf(next, "before", e);
            } finally {
                Threads.restoreInterrupt(pending);
            }
        }
        return null;
    }

    /**
     * Calls the interceptors after the outcome, the innermost first, and counts the request out.
     *
     * @param responded the response; null when the outcome is an error
     * @param failed null when the handler responded
     * @return the failure of the request; null when the response is the outcome
     */
    public Failure after(OutgoingResponse responded, Failure failed) {
        if (chain == null) {
            return failed;
        }
        return chain.seesOutcomes() && first < chain.size() ? seen(responded, failed) : ended(failed);
    }

    private Failure ended(Failure outcome) {
        Arrays.fill(attachments, 0, chain.size(), null);
        end();
        return outcome;
    }

    private Failure seen(OutgoingResponse responded, Failure failed) {
        failure = failed;
        inside = Thread.currentThread();
        boolean live = responded == null || PassedObjects.areLive(responded.tensors());
        for (at = first; at < chain.size(); at++) {
            HandlerInterceptor interceptor = chain.get(at).interceptor();
            response = failure == null ? responded : null;
            boolean pending = Threads.hideInterrupt();
            try {
                if (interceptor != null) {
                    interceptor.after(this);
                    live = response == null || PassedObjects.requireLive(live, response.tensors());
                }
            } catch (Throwable e) { // the boundary around an interceptor
                Failure own = failureOf(at, "after", e);
                failure = failure == null ? own : failure;
            } finally {
                Threads.restoreInterrupt(pending);
            }
        }
        inside = null;
        response = null;
        Failure outcome = failure;
        failure = null;
        return ended(outcome);
    }

    /**
     * Calls the interceptors after a deferred response, on any thread.
     *
     * @param context of the request
     * @param responded the response; null when the outcome is an error
     * @param failed null when there is a response
     * @return the failure of the request; null when the response is the outcome
     */
    public Failure afterLate(CallContext context, OutgoingResponse responded, Failure failed) {
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.enter(context);
        try {
            return after(failed == null ? responded : null, failed);
        } finally {
            thread.leave(before);
        }
    }

    /** Counts the request out, once. */
    public void end() {
        if (!ended.get() && ended.compareAndSet(false, true)) {
            chain.end();
        }
    }

    private Failure failureOf(int at, String method, Throwable e) {
        if (e instanceof RejectedMessageException rejection) {
            return Failure.rejected(workerId, rejection);
        }
        chain.get(at).threw(method, "call " + MessageId.text(request.id()), e);
        String text = "the interceptor of " + chain.get(at).provider() + " failed in " + method + ": "
                + ForeignErrors.describe(e);
        return new Failure(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, Failure.nodeError(workerId, text));
    }

    private void requireInside() {
        if (inside != Thread.currentThread()) {
            throw new IllegalStateException(
                    "an outcome is read by the thread that the interceptor was called on, until it returns");
        }
    }

    @Override
    public MessageType type() {
        requireInside();
        return request.type();
    }

    @Override
    public long id() {
        requireInside();
        return request.id();
    }

    @Override
    public int from() {
        requireInside();
        return request.from();
    }

    @Override
    public String responder() {
        requireInside();
        return servedBy;
    }

    @Override
    public Object attachment() {
        requireInside();
        return attachments[at];
    }

    @Override
    public Optional<ErrorCode> error() {
        requireInside();
        return failure == null ? Optional.empty() : Optional.of(failure.code());
    }

    @Override
    public String errorText() {
        requireInside();
        return failure == null ? "" : failure.text();
    }

    @Override
    public ByteBuffer payload() {
        requireInside();
        return response == null
                ? ByteBuffer.allocate(0)
                : ByteBuffer.wrap(response.array(), 0, response.length())
                        .slice()
                        .asReadOnlyBuffer();
    }

    @Override
    public List<Tensor> tensors() {
        requireInside();
        return response == null ? List.of() : response.tensors();
    }
}
