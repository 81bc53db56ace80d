package io.waybill.api;

import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;

/**
 * The named fields of a request or a response, written one after another. Obtained from {@link Outbox#response()},
 * {@link LateResponse#body()} or {@link Request#body()}; reusable by its owner, never by the writer.
 *
 * <p>A field's name may come once; that is checked by the reader. For one thread at a time.
 */
public final class Body {

    private final ValueEncoder encoder;
    private int countAt;
    private int count;

    /** A body over an encoder; {@link #openResponse} or {@link #openRequest} comes before the first field. */
    public Body(ValueEncoder encoder) {
        this.encoder = encoder;
    }

    /** Starts the fields of a response, which forgets what the encoder held: a dict. */
    public Body openResponse() {
        encoder.reset();
        count = 0;
        countAt = encoder.openCollection(ValueEncoder.DICT);
        return this;
    }

    /** Starts the fields of a request, which forgets what the encoder held: a name, no positional arguments, named arguments. */
    public Body openRequest(String operation) {
        encoder.reset();
        count = 0;
        encoder.name(operation);
        encoder.patchCount(encoder.openCount(), 0);
        countAt = encoder.openCount();
        return this;
    }

    public Body text(String name, String value) {
        field(name).text(value);
        return this;
    }

    public Body int64(String name, long value) {
        field(name).int64(value);
        return this;
    }

    public Body float64(String name, double value) {
        field(name).float64(value);
        return this;
    }

    public Body bool(String name, boolean value) {
        field(name).bool(value);
        return this;
    }

    /** The buffer's remaining bytes; the buffer itself is not changed. */
    public Body bytes(String name, ByteBuffer value) {
        field(name).binary(value);
        return this;
    }

    public Body tensor(String name, Tensor value) {
        field(name).tensor(value);
        return this;
    }

    public Body value(String name, Value value) {
        field(name).value(value);
        return this;
    }

    private ValueEncoder field(String name) {
        count++;
        encoder.patchCount(countAt, count);
        return encoder.text(name);
    }
}
