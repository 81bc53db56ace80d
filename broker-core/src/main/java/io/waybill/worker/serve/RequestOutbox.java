package io.waybill.worker.serve;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.ComposedOutbox;
import io.waybill.handling.Delivered;
import io.waybill.handling.OutgoingResponse;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import io.waybill.worker.call.NestedCaller;
import io.waybill.worker.inner.DispatchedCount;
import io.waybill.worker.inner.EnclosingRequest;
import io.waybill.worker.inner.InnerCreation;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * The outbox of one request: the response that its handler composes, and the calls that the handler makes. Pooled with the
 * {@link Exchange}.
 *
 * <p><b>Threads.</b> Belongs to the thread of the handler while it runs.
 */
final class RequestOutbox implements ComposedOutbox, EnclosingRequest {

    private final ServingContext context;
    private final Exchange exchange;
    private final ResponseBody body;
    private final NestedCaller caller;
    private Rpc rpc; // on behalf of the caller; null until a handler wants it
    private Observer observer; // of the handler; null until it reads the clock or random numbers
    private DeferredResponse late; // null until the handler defers its response
    private final DispatchedCount dispatched = new DispatchedCount();
    private Thread inHandler; // the thread that is inside the handler; null for none

    RequestOutbox(ServingContext context, Exchange exchange, Consumer<Throwable> onReleaseFailure) {
        this.context = context;
        this.exchange = exchange;
        this.body = new ResponseBody(onReleaseFailure);
        this.caller = new NestedCaller(context.calls());
    }

    /** Begins a request. */
    void open(long id, long deadlineNs) {
        late = null;
        body.reset();
        caller.open(id, deadlineNs);
    }

    /** Ends the request. */
    void close() {
        caller.close();
        late = null;
        if (observer != null) {
            observer = null;
        }
    }

    /** Marks that the calling thread is about to enter the handler. */
    void enter() {
        inHandler = Thread.currentThread();
    }

    void leave() {
        inHandler = null;
    }

    /** Returns the response as composed so far. */
    ResponseBody body() {
        return body;
    }

    @Override
    public OutgoingResponse composed() {
        return body.content();
    }

    @Override
    public boolean isDeferred() {
        return late != null;
    }

    /** Returns the response that the handler deferred; null for none. */
    DeferredResponse late() {
        return late;
    }

    /** Ends the recording of the handler's observations, and returns them in record format. */
    byte[] observed() {
        return observer == null ? Observations.NO_BYTES : observer.end();
    }

    @Override
    public long leftNs(long deadlineNs) {
        return observer().leftNs(deadlineNs);
    }

    private synchronized Observer observer() { // the handlers of dispatched messages share it
        if (observer == null) {
            observer = new Observer(context.clock(), exchange.view().id());
        }
        return observer;
    }

    @Override
    public Body response() {
        return mine().fields();
    }

    @Override
    public void respond(Value value) {
        mine().value(value);
    }

    @Override
    public void respond(ByteBuffer payload) {
        mine().raw(payload, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        mine().raw(payload, tensors);
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        mine().raw(payload, tensors, references);
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        mine();
        return context.inner().dispatch(this, type, payload, tensors, references);
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        mine();
        return context.inner().dispatchAsync(this, type, payload, tensors, references);
    }

    /** Returns the response, for the handler's thread alone: this object is reused for other requests. */
    private ResponseBody mine() {
        if (inHandler != Thread.currentThread()) {
            throw new IllegalStateException(
                    "an outbox takes a response from the thread of its handler, until that returned;"
                            + " outbox.later() gives what any thread may respond with afterwards");
        }
        return body;
    }

    @Override
    public LateResponse later() {
        mine();
        if (late == null) {
            HandlerEntry of = exchange.entry();
            late = new DeferredResponse(
                    exchange,
                    context.responses().workerId(),
                    e -> context.handlerErrors().logRelease(of, e));
        }
        return late;
    }

    @Override
    public Caller caller() {
        return caller;
    }

    /** Returns the origin of the handler's nested calls. */
    NestedCaller origin() {
        return caller;
    }

    @Override
    public Rpc rpc() {
        if (rpc == null) {
            rpc = context.rpcFor(caller);
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
    public RequestArrival arrival() {
        return observer().arrival(exchange.task());
    }

    @Override
    public RandomGenerator random() {
        return observer().random();
    }

    // ---- EnclosingRequest, for the messages that the handler dispatches

    @Override
    public RecordView view() {
        return exchange.view();
    }

    @Override
    public HandlerEntry entry() {
        return exchange.entry();
    }

    @Override
    public Outbox outbox() {
        return this;
    }

    @Override
    public String senderName() {
        return exchange.link().name();
    }

    @Override
    public boolean isFromSelf() {
        return exchange.link().isSelf();
    }

    @Override
    public Delivered delivered() {
        return exchange.delivered();
    }

    @Override
    public InnerCreation takeCreation() {
        RequestReferences references = exchange.attachments().references();
        return references == null ? null : references.takeCreation();
    }

    @Override
    public int depth() {
        return 0;
    }

    @Override
    public String path() {
        return exchange.view().type().name();
    }

    @Override
    public DispatchedCount dispatched() {
        return dispatched;
    }
}
