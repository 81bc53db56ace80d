package io.waybill.script;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import java.nio.ByteBuffer;
import java.util.List;

/** A call as the broker hands it over: its bytes, decoded when asked. */
final class MessageOf implements Message {

    private final ByteBuffer payload;
    private final List<Tensor> tensors;

    MessageOf(Invocation call) {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        this.payload = ByteBuffer.wrap(encoder.toBytes()).asReadOnlyBuffer();
        this.tensors = List.copyOf(encoder.tensors());
    }

    @Override
    public MessageType type() {
        return MessageType.SCRIPT_CALL;
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
    public String operation() throws RejectedMessageException {
        return invocation().name();
    }

    @Override
    public ByteBuffer payload() {
        return payload;
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public Invocation invocation() throws RejectedMessageException {
        return Invocation.decode(payload, tensors);
    }

    @Override
    public Value value(String name) throws RejectedMessageException {
        return invocation().named().get(name);
    }

    @Override
    public String text(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long int64(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public double float64(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean bool(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] bytes(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Tensor tensor(String name) {
        throw new UnsupportedOperationException();
    }
}
