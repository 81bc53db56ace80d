package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The named fields of a payload, read without decoding the rest: the named arguments of a call by name, or the entries
 * of a response that is a dict. A getter allocates nothing but its result: no map, and nothing for other fields.
 * Reusable.
 *
 * <p>The payload is untrusted. {@link #call} and {@link #result} check all of it, so every getter rejects a payload
 * with a fault anywhere.
 *
 * <p><b>Ownership.</b> Neither the payload nor the tensors and references are copied: none of them may change until
 * {@link #close}.
 *
 * <p><b>Threads.</b> One at a time. Once a payload is open, any number of threads may call the getters.
 *
 * <p><b>Errors.</b> Each failure is a {@link RejectedMessageException} with {@link ErrorCode#MALFORMED_BODY}.
 */
public final class NamedFields {

    private static final String[] KINDS = {
        "none", "bool", "bool", "int", "float", "complex", "text", "binary",
        "tensor", "list", "tuple", "dict", "device", "dtype", "sparse", "rref"
    };

    /** Stands for the position of an absent field. */
    static final int ABSENT = -1;

    private static final int MIN_ARGUMENT_BYTES = 6; // a string without characters, and a value without content

    private final EncodedValues values = new EncodedValues();
    private boolean isOpen;
    private boolean isNamed; // whether the payload has named fields
    private int from;
    private int positionalCount;
    private int positionalAt;
    private int expected; // index of the field after the last requested one: usually the next requested one

    /**
     * Opens the payload of a call by name: the buffer's remaining bytes. This class does not change the buffer; no
     * other code may change it until {@link #close}.
     */
    public NamedFields call(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references)
            throws RejectedMessageException {
        close();
        values.open(payload, tensors, references);
        from = payload.position();
        int at = values.checkName(from);
        positionalCount = values.count(at, 1);
        positionalAt = at + Integer.BYTES;
        at = positionalAt;
        for (int i = 0; i < positionalCount; i++) {
            at = values.check(at, 0);
        }
        int count = values.count(at, MIN_ARGUMENT_BYTES);
        values.checkEnd(values.keys().checkArguments(at + Integer.BYTES, count));
        isNamed = true;
        isOpen = true;
        return this;
    }

    /**
     * Opens the payload of a response, one value: the buffer's remaining bytes, under the same rules as for
     * {@link #call}.
     */
    public NamedFields result(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references)
            throws RejectedMessageException {
        close();
        values.open(payload, tensors, references);
        from = payload.position();
        boolean isDict = payload.hasRemaining() && values.tag(from) == ValueEncoder.DICT;
        values.checkEnd(
                isDict ? values.keys().checkEntries(values.next(from), values.length(from), 1) : values.check(from, 0));
        isNamed = isDict;
        isOpen = true;
        return this;
    }

    /** Returns whether a payload is open. */
    public boolean isOpen() {
        return isOpen;
    }

    /** Drops the payload, its tensors and its references. */
    public void close() {
        isOpen = false;
        isNamed = false;
        expected = 0;
        values.close();
    }

    /** Decodes the whole call. */
    public Invocation invocation() throws RejectedMessageException {
        List<Value> positional = new ValueDecoder(values, positionalAt).elements(positionalCount);
        Map<String, Value> named = new LinkedHashMap<>();
        CheckedKeys keys = values.keys();
        for (int i = 0; i < keys.count(); i++) {
            int key = keys.at(i);
            named.put(values.text(key), values.value(values.behindText(key)));
        }
        boolean isAsync = (values.firstTwoBytes(from) & Invocation.ASYNC_BIT) != 0;
        return new Invocation(
                values.name(from), positional, named, isAsync ? Invocation.Mode.ASYNC : Invocation.Mode.DIRECT);
    }

    /** Decodes the whole response. */
    public Value value() throws RejectedMessageException {
        return values.value(from);
    }

    /** Decodes a field. */
    public Value value(String name) throws RejectedMessageException {
        return values.value(find(name));
    }

    public String text(String name) throws RejectedMessageException {
        return values.text(find(name, ValueEncoder.TEXT));
    }

    public long int64(String name) throws RejectedMessageException {
        return values.int64(find(name, ValueEncoder.INT));
    }

    /** Returns a field as a float; an int is converted. */
    public double float64(String name) throws RejectedMessageException {
        int at = find(name);
        return values.tag(at) == ValueEncoder.INT
                ? values.int64(at)
                : values.float64(require(name, at, ValueEncoder.FLOAT));
    }

    public boolean bool(String name) throws RejectedMessageException {
        int at = find(name);
        boolean isTrue = values.tag(at) == ValueEncoder.TRUE;
        if (!isTrue) {
            require(name, at, ValueEncoder.FALSE);
        }
        return isTrue;
    }

    /** Returns a copy of the bytes of a field. */
    public byte[] bytes(String name) throws RejectedMessageException {
        return values.binary(find(name, ValueEncoder.BINARY));
    }

    public Tensor tensor(String name) throws RejectedMessageException {
        return values.tensor(find(name, ValueEncoder.TENSOR));
    }

    /** Returns the position of a field's value. */
    private int find(String name) throws RejectedMessageException {
        int key = key(name);
        if (key == ABSENT) {
            throw malformed(
                    isNamed
                            ? "the field " + name + " is missing"
                            : "the payload has no named fields, and the field " + name + " was asked for");
        }
        return values.behindText(key);
    }

    /** Returns the position of a field's name, or {@link #ABSENT}. */
    int key(String name) {
        CheckedKeys keys = values.keys();
        int count = isNamed ? keys.count() : 0;
        int first = expected;
        for (int i = 0; i < count; i++) {
            int index = first + i < count ? first + i : first + i - count;
            int key = keys.at(index);
            if (keys.isText(key, name)) {
                expected = index + 1 == count ? 0 : index + 1;
                return key;
            }
        }
        return ABSENT;
    }

    /** Returns the position after the field whose name is at this position. */
    int behind(int key) throws RejectedMessageException {
        return values.check(values.behindText(key), 0);
    }

    private int find(String name, byte tag) throws RejectedMessageException {
        return require(name, find(name), tag);
    }

    private int require(String name, int at, byte tag) throws RejectedMessageException {
        byte found = values.tag(at);
        if (found != tag) {
            throw malformed(
                    "the field " + name + " must be of kind " + KINDS[tag] + ", and is of kind " + KINDS[found]);
        }
        return at;
    }

    private static RejectedMessageException malformed(String text) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, text);
    }
}
