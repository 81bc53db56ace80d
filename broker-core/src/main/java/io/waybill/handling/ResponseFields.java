package io.waybill.handling;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.tensor.Tensor;

/** The fields of a response, read from its payload at each call. */
public abstract class ResponseFields implements Response {

    @Override
    public Value value() {
        try {
            ValueDecoder decoder = new ValueDecoder(payload(), tensors(), references());
            Value value = decoder.value();
            decoder.end();
            return value;
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), id(), "response: " + e.getMessage(), e);
        }
    }

    @Override
    public Value value(String name) {
        try {
            return Fields.require(value(), name);
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), id(), "response: " + e.getMessage(), e);
        }
    }

    @Override
    public String text(String name) {
        return field(name, Value.Text.class).value();
    }

    @Override
    public long int64(String name) {
        return field(name, Value.Int.class).value();
    }

    @Override
    public double float64(String name) {
        Value value = value(name);
        return value instanceof Value.Int integer
                ? integer.value()
                : field(name, Value.Float.class).value();
    }

    @Override
    public boolean bool(String name) {
        return field(name, Value.Bool.class).value();
    }

    @Override
    public Tensor tensor(String name) {
        return field(name, Value.OfTensor.class).value();
    }

    private <T extends Value> T field(String name, Class<T> kind) {
        try {
            return Fields.as(value(name), name, kind);
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.MALFORMED_BODY, id(), e.getMessage(), e);
        }
    }
}
