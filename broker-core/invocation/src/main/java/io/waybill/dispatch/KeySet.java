package io.waybill.dispatch;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Set of types and operations, looked up by the fields of a request. Immutable; lookups allocate nothing.
 *
 * <p>Functions and control operations are not included.
 */
public final class KeySet {

    /** Offset of the name of a call's operation, after its length. */
    private static final int NAME_AT = 2;

    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();

    private final BitSet types = new BitSet();
    private final NameTable<Boolean> operations;
    private final OperationPatterns<Boolean> patterns;
    private final boolean allTypes;

    private KeySet(Set<HandlerKey> keys) {
        Map<String, Boolean> names = new HashMap<>();
        Map<String, Boolean> prefixes = new HashMap<>();
        for (HandlerKey key : keys) {
            if (key instanceof HandlerKey.OfType ofType) {
                types.set(ofType.type().code());
            } else if (key instanceof HandlerKey.OfOperation operation) {
                names.put(operation.name(), true);
            } else if (key instanceof HandlerKey.OfOperationPrefix prefix) {
                prefixes.put(prefix.prefix(), true);
            }
        }
        operations = new NameTable<>(names);
        patterns = new OperationPatterns<>(
                prefixes, keys.contains(new HandlerKey.OfAnyOperation()) ? true : null, each -> true);
        allTypes = keys.contains(new HandlerKey.OfAnyType());
    }

    /** Creates a set from the keys that another worker published; ignores invalid ones. */
    public static KeySet of(Collection<String> keys) {
        Set<HandlerKey> parsed = new HashSet<>();
        for (String text : keys) {
            try {
                parsed.add(HandlerKey.parse(text));
            } catch (IllegalArgumentException e) {
                continue; // perhaps a key of a later version: its requests are begun at most once
            }
        }
        return new KeySet(parsed);
    }

    /** Returns whether a request with this payload is in the set. */
    public boolean takes(MessageType type, byte[] payload, int payloadLength) {
        if (type.code() != NAMED_CALL) {
            return types.get(type.code()) || allTypes && HandlerKey.OfAnyType.covers(type.code());
        }
        if (payloadLength < NAME_AT) {
            return false;
        }
        int length = Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE;
        return length <= Invocation.MAX_NAME_BYTES
                && NAME_AT + length <= payloadLength
                && (operations.get(payload, NAME_AT, length) != null || patterns.get(payload, NAME_AT, length) != null);
    }
}
