package io.waybill.osgi;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/** A call by name with named fields. */
final class FakeMessage implements Message {

    private final String operation;
    private final Map<String, Value> fields;

    FakeMessage(String operation, Map<String, Value> fields) {
        this.operation = operation;
        this.fields = fields;
    }

    @Override
    public MessageType type() {
        return MessageType.NAMED_CALL;
    }

    @Override
    public long id() {
        return MessageId.of(1, 1);
    }

    @Override
    public int from() {
        return 1;
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
    public String operation() {
        return operation;
    }

    @Override
    public ByteBuffer payload() {
        throw new UnsupportedOperationException();
    }

    @Override
    public List<Tensor> tensors() {
        return List.of();
    }

    @Override
    public Invocation invocation() {
        return new Invocation(operation, List.of(), fields);
    }

    @Override
    public Value value(String name) throws RejectedMessageException {
        Value value = fields.get(name);
        if (value == null) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "no field " + name);
        }
        return value;
    }

    @Override
    public String text(String name) throws RejectedMessageException {
        return ((Value.Text) value(name)).value();
    }

    @Override
    public long int64(String name) throws RejectedMessageException {
        return ((Value.Int) value(name)).value();
    }

    @Override
    public double float64(String name) throws RejectedMessageException {
        return ((Value.Float) value(name)).value();
    }

    @Override
    public boolean bool(String name) throws RejectedMessageException {
        return ((Value.Bool) value(name)).value();
    }

    @Override
    public byte[] bytes(String name) throws RejectedMessageException {
        return ((Value.Binary) value(name)).value();
    }

    @Override
    public Tensor tensor(String name) throws RejectedMessageException {
        return ((Value.OfTensor) value(name)).value();
    }
}
