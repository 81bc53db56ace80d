package io.waybill.handling;

import io.waybill.api.CallException;
import io.waybill.api.ErrorKind;
import io.waybill.api.NamedFields;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;

/** Fields of a response, found in its payload. The payload is checked when the first of them is read. */
public abstract class ResponseFields implements Response {

    // Written by the first reading thread, read by all reading threads; null before that, and closed when the content
    // was replaced.
    private volatile NamedFields fields;

    /** Returns the payload, which is not changed; a little-endian one is not duplicated. */
    protected ByteBuffer values() {
        return payload();
    }

    /** Forgets the fields: the content was replaced, or is gone. By the only thread that uses the response. */
    protected final void forgetFields() {
        if (fields != null) {
            fields.close();
        }
    }

    private NamedFields fields() throws RejectedMessageException {
        NamedFields open = fields;
        if (open == null || !open.isOpen()) {
            open = (open == null ? new NamedFields() : open).result(values(), tensors(), references());
            fields = open;
        }
        return open;
    }

    private CallException refused(RejectedMessageException e) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), id(), "response: " + e.getMessage(), e);
    }

    @Override
    public Value value() {
        try {
            return fields().value();
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public Value value(String name) {
        try {
            return fields().value(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public String text(String name) {
        try {
            return fields().text(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public long int64(String name) {
        try {
            return fields().int64(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public double float64(String name) {
        try {
            return fields().float64(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public boolean bool(String name) {
        try {
            return fields().bool(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public byte[] bytes(String name) {
        try {
            return fields().bytes(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public Tensor tensor(String name) {
        try {
            return fields().tensor(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }
}
