package io.waybill.testing.core;

import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.NamedFields;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/**
 * Request for a test of a handler without a broker. It is encoded at creation and decoded when the handler reads it, as
 * between two workers, and refuses a missing or mistyped field like the broker's messages. For an interceptor of
 * handlers it is the intercepted message, and keeps its attachment.
 *
 * <p><b>Ownership.</b> The test owns the tensors: the message neither retains nor releases them.
 */
public final class TestMessage implements InterceptedMessage {

    private final MessageType type;
    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private final List<RRef> references;
    private Object attachment;
    private WorkerInfo caller = new WorkerInfo(1, "caller");

    private TestMessage(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        this.type = type;
        this.payload = ByteBuffer.wrap(payload).asReadOnlyBuffer();
        this.tensors = List.copyOf(tensors);
        this.references = List.copyOf(references);
    }

    /** Creates a call of an operation with named fields. */
    public static TestMessage of(String operation, Map<String, Value> fields) {
        return of(MessageType.NAMED_CALL, new Invocation(operation, List.of(), fields));
    }

    /** Creates a call of any type with any arguments. */
    public static TestMessage of(MessageType type, Invocation invocation) {
        ValueEncoder encoder = new ValueEncoder();
        invocation.encode(encoder);
        return new TestMessage(type, encoder.toBytes(), encoder.tensors(), encoder.references());
    }

    /** Creates a request of any type with raw bytes, such as an envelope: the buffer's remaining bytes, copied. */
    public static TestMessage raw(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        byte[] bytes = new byte[payload.remaining()];
        payload.duplicate().get(bytes);
        return new TestMessage(type, bytes, tensors, references);
    }

    /** Creates the message for the receiver of a request. */
    public static TestMessage of(Request request) {
        ByteBuffer payload = ByteBuffer.wrap(request.payloadArray(), 0, request.payloadLength());
        return raw(request.type(), payload, request.tensors(), request.references());
    }

    /** Sets the worker that sends the request; without it a worker 1 named {@code caller}. Returns this object. */
    public TestMessage from(WorkerInfo sender) {
        caller = sender;
        return this;
    }

    /** Returns the last {@linkplain #attach attached} object; null if there is none. */
    public Object attachment() {
        return attachment;
    }

    @Override
    public void attach(Object attached) {
        attachment = attached;
    }

    @Override
    public MessageType type() {
        return type;
    }

    @Override
    public long id() {
        return MessageId.of(1, 1);
    }

    @Override
    public int from() {
        return caller.id();
    }

    @Override
    public WorkerInfo caller() {
        return caller;
    }

    @Override
    public long parentId() {
        return MessageId.NONE;
    }

    @Override
    public long remainingNs() {
        return Long.MAX_VALUE;
    }

    @Override
    public boolean isRedelivery() {
        return false;
    }

    @Override
    public String operation() throws RejectedMessageException {
        boolean isByName = type.equals(MessageType.NAMED_CALL) || type.equals(MessageType.SCRIPT_CALL);
        return isByName ? invocation().name() : type.name();
    }

    @Override
    public ByteBuffer payload() {
        return payload.duplicate();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public List<RRef> references() {
        return references;
    }

    private NamedFields fields() throws RejectedMessageException {
        return new NamedFields().call(payload, tensors, references);
    }

    @Override
    public Invocation invocation() throws RejectedMessageException {
        return fields().invocation();
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
