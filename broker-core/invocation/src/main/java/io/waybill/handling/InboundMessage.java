package io.waybill.handling;

import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.NamedFields;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.host.Clock;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** Request as its handler sees it: a view of a record. Belongs to the handler's thread. */
public final class InboundMessage implements InterceptedMessage {

    private final RecordView view;
    private final LongUnaryOperator time;
    private final Supplier<String> sender;
    private HandlerKey key;
    private Delivered delivered = Delivered.FIRST;
    private List<Tensor> tensors = List.of();
    private List<? extends RRef> references = List.of();
    private final NamedFields fields = new NamedFields(); // open after the first call of a getter of a field
    private Invocation invocation;
    private Object attached; // object of the interceptor that is called; null for none

    /**
     * Creates a message.
     *
     * @param time function from a deadline to the time until it, called for each reading of the handler
     * @param sender returns the name of the worker that sent the request, while the message is open
     */
    public InboundMessage(RecordView view, LongUnaryOperator time, Supplier<String> sender) {
        this.view = view;
        this.time = time;
        this.sender = sender;
    }

    /** Shows the request of the view to its handler. @param arrived its tensors */
    public void open(HandlerKey handledAs, Delivered how, List<Tensor> arrived) {
        key = handledAs;
        delivered = how;
        tensors = arrived;
        references = List.of();
        forgetFields();
    }

    @Override
    public void attach(Object attachment) {
        attached = attachment;
    }

    /** Returns the object that an interceptor attached, and forgets it; null for none. */
    Object takeAttached() {
        Object taken = attached;
        attached = null;
        return taken;
    }

    /** Sets the tensors after their conversion for a device. */
    public void tensors(List<Tensor> converted) {
        tensors = converted;
        forgetFields();
    }

    /** Sets the references. */
    public void references(List<? extends RRef> arrived) {
        references = arrived;
        forgetFields();
    }

    private void forgetFields() {
        fields.close();
        invocation = null;
    }

    /** Forgets objects that might pin a handler's bundle. */
    public void close() {
        key = null;
        tensors = List.of();
        references = List.of();
        forgetFields();
        attached = null;
    }

    @Override
    public MessageType type() {
        return view.type();
    }

    @Override
    public long id() {
        return view.id();
    }

    @Override
    public int from() {
        return view.from();
    }

    @Override
    public WorkerInfo caller() {
        requireOpen("caller");
        return new WorkerInfo(view.from(), sender.get());
    }

    @Override
    public long parentId() {
        return view.parent();
    }

    @Override
    public long remainingNs() {
        long deadlineNs = view.deadlineNs();
        return deadlineNs == 0 ? Long.MAX_VALUE : time.applyAsLong(deadlineNs);
    }

    /** Returns the deadline on CLOCK_BOOTTIME; 0 for none. */
    public long deadlineNs() {
        return view.deadlineNs();
    }

    /**
     * Returns the timeout that the caller gave a request, in nanoseconds; 0 for none. Computed from the time of
     * sending, therefore exact to the millisecond only, and wrong when the wall clock was set in the meantime: for
     * texts.
     *
     * @param sentNs time of sending, by the wall clock
     * @param deadlineNs deadline on CLOCK_BOOTTIME; 0 for none
     */
    public static long timeoutNs(long sentNs, long deadlineNs, Clock clock) {
        if (deadlineNs == 0) {
            return 0;
        }
        long ns = deadlineNs - clock.bootNs() + clock.wallNs() - sentNs;
        long unitNs = Math.abs(ns) < 1_000_000 ? 10_000 : 1_000_000;
        return Math.round((double) ns / unitNs) * unitNs;
    }

    /** Returns the time of sending, by the wall clock. */
    public long sentNs() {
        return view.sentNs();
    }

    @Override
    public boolean isRedelivery() {
        return delivered == Delivered.AGAIN;
    }

    @Override
    public String operation() throws RejectedMessageException {
        if (key instanceof HandlerKey.OfOperation operation) {
            return operation.name();
        }
        if (key instanceof HandlerKey.OfControl control) {
            return control.name();
        }
        if (key instanceof HandlerKey.OfFunction function) {
            return function.name();
        }
        if (key instanceof HandlerKey.OfOperationPrefix || key instanceof HandlerKey.OfAnyOperation) {
            return Route.operation(view);
        }
        return view.type().name();
    }

    @Override
    public ByteBuffer payload() {
        return view.payload();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public List<? extends RRef> references() {
        return references;
    }

    private void requireOpen(String what) {
        if (key == null) {
            throw new IllegalStateException("message " + MessageId.text(view.id())
                    + " was read after its handler had returned: read its " + what + " before, and keep copies");
        }
    }

    private NamedFields fields() throws RejectedMessageException {
        if (fields.isOpen()) {
            return fields;
        }
        requireOpen("fields");
        return fields.call(view.values(), tensors, references);
    }

    @Override
    public Invocation invocation() throws RejectedMessageException {
        if (invocation == null) {
            invocation = fields().invocation();
        }
        return invocation;
    }

    @Override
    public Value value(String name) throws RejectedMessageException {
        return fields().value(name);
    }

    @Override
    public String text(String name) throws RejectedMessageException {
        return fields().text(name);
    }

    @Override
    public long int64(String name) throws RejectedMessageException {
        return fields().int64(name);
    }

    @Override
    public double float64(String name) throws RejectedMessageException {
        return fields().float64(name);
    }

    @Override
    public boolean bool(String name) throws RejectedMessageException {
        return fields().bool(name);
    }

    @Override
    public byte[] bytes(String name) throws RejectedMessageException {
        return fields().bytes(name);
    }

    @Override
    public Tensor tensor(String name) throws RejectedMessageException {
        return fields().tensor(name);
    }
}
