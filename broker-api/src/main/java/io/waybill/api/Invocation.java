package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The payload of a call by name ({@link MessageType#NAMED_CALL}, {@link MessageType#SCRIPT_CALL}): a name, positional arguments and
 * named arguments. {@code docs/reference/values.md} has its bytes.
 *
 * @param name of the operation, such as {@code text.count} or {@code aten::add.Tensor}
 * @param positional in order
 * @param named in order, read-only
 * @param mode when the response is sent
 */
public record Invocation(String name, List<Value> positional, Map<String, Value> named, Mode mode) {

    /** Time at which the response of a call is sent. */
    public enum Mode {
        /** On return of the called operation, with the value that it returned. */
        DIRECT,
        /** On completion of the returned future, with the future's value. For TorchScript functions. */
        ASYNC
    }

    /** Maximum length of an operation's name, in bytes of UTF-8. */
    public static final int MAX_NAME_BYTES = 256;

    static final int ASYNC_BIT = 0x8000;

    public Invocation {
        positional = List.copyOf(positional);
        named = Collections.unmodifiableMap(new LinkedHashMap<>(named));
    }

    /** Creates a call in {@link Mode#DIRECT}. */
    public Invocation(String name, List<Value> positional, Map<String, Value> named) {
        this(name, positional, named, Mode.DIRECT);
    }

    /** Returns the same call in another mode. */
    public Invocation withMode(Mode other) {
        return new Invocation(name, positional, named, other);
    }

    /** Extracts the length of the name, in bytes, from the first two bytes of a payload. Performs no checks. */
    public static int nameLength(int firstTwoBytes) {
        return firstTwoBytes & 0xffff & ~ASYNC_BIT;
    }

    /** Appends this call to an encoder. */
    public void encode(ValueEncoder encoder) {
        encoder.name(name, mode == Mode.ASYNC ? ASYNC_BIT : 0);
        encoder.patchCount(encoder.openCount(), positional.size());
        for (Value value : positional) {
            encoder.value(value);
        }
        encoder.patchCount(encoder.openCount(), named.size());
        for (Map.Entry<String, Value> entry : named.entrySet()) {
            encoder.text(entry.getKey()).value(entry.getValue());
        }
    }

    /**
     * Decodes a whole payload without references.
     *
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} when the bytes are not a call by name
     */
    public static Invocation decode(ByteBuffer payload, List<Tensor> tensors) throws RejectedMessageException {
        return decode(payload, tensors, List.of());
    }

    /** Decodes a whole payload with references. */
    public static Invocation decode(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references)
            throws RejectedMessageException {
        return new NamedFields().call(payload, tensors, references).invocation();
    }
}
