package io.waybill.api;

import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Writer of the named fields of a request or a response. Obtained from {@link Outbox#response()},
 * {@link LateResponse#body()} or {@link Request#body()}; only the owner of the response or request may reset and reuse
 * it.
 *
 * <p>Each field name may be written once; the receiver rejects duplicates. In a request that was sent, a field replaces
 * the one of its name. Not thread-safe.
 */
public final class Body {

    private final ValueEncoder encoder;
    private NamedFields written; // null until a field is added to a request that was sent
    private int countAt;
    private int count;
    private boolean used;

    /**
     * Creates a body that writes to an encoder. Call {@link #openResponse} or {@link #openRequest} before the first
     * field.
     */
    public Body(ValueEncoder encoder) {
        this.encoder = encoder;
    }

    /** Starts the fields of a response (a dict); discards what the encoder contained. */
    public Body openResponse() {
        encoder.reset();
        count = 0;
        countAt = encoder.openCollection(ValueEncoder.DICT);
        return this;
    }

    /**
     * Starts the fields of a request (a name, no positional arguments, named arguments); discards what the encoder
     * contained.
     */
    public Body openRequest(String operation) {
        encoder.reset();
        count = 0;
        used = false;
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

    /** Writes the buffer's remaining bytes as a field; the buffer itself is not changed. */
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

    /**
     * Writes each component of a record as a field, by {@link RecordCodec}, or each entry of a {@link Value.Dict}.
     *
     * @throws IllegalArgumentException if a key of the dict is no text, or a component of the record is null or of a
     *     type that has no value
     */
    public Body fields(Record fields) {
        Value.Dict dict = fields instanceof Value.Dict given ? given : RecordCodec.encode(fields);
        dict.entries().forEach((key, value) -> {
            if (!(key instanceof Value.Text name)) {
                throw new IllegalArgumentException("a field's name is a text, and this key is " + key);
            }
            value(name.value(), value);
        });
        return this;
    }

    /**
     * Prepares the body for its next use: the request was read in order to be sent, and later fields belong to the
     * next use.
     */
    void onUse() {
        used = true;
    }

    /** Removes a field of a request that was sent, if the request has it. */
    private void remove(String name) {
        if (written == null) {
            written = new NamedFields();
        }
        try {
            written.call(encoder.written(), encoder.tensors(), encoder.references());
            int key = written.key(name);
            if (key == NamedFields.ABSENT) {
                return;
            }
            if (count > 0 && encoder.tensors().isEmpty() && encoder.references().isEmpty()) {
                encoder.cut(key, written.behind(key));
                count--;
            } else {
                rewriteWithout(name); // removal changes the indices of tensors, or another class wrote the request
            }
        } catch (RejectedMessageException e) {
            throw new IllegalStateException("the request was not written by its body: " + e.getMessage(), e);
        } finally {
            written.close();
        }
    }

    private void rewriteWithout(String name) throws RejectedMessageException {
        Invocation call = Invocation.decode(
                ByteBuffer.wrap(encoder.toBytes()), List.copyOf(encoder.tensors()), List.copyOf(encoder.references()));
        openRequest(call.name());
        call.named().forEach((other, value) -> {
            if (!other.equals(name)) {
                value(other, value);
            }
        });
        used = true;
    }

    private ValueEncoder field(String name) {
        if (used) {
            remove(name);
        }
        count++;
        encoder.patchCount(countAt, count);
        return encoder.text(name);
    }
}
