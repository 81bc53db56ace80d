package io.waybill.dispatch;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Some types and operations, asked with what a request carries. Immutable; asking allocates nothing.
 *
 * <p>Functions and control operations are left out.
 */
public final class KeySet {

    /** In front of the name of a call's operation, whose length it is. */
    private static final int NAME_AT = 2;

    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();

    private final BitSet types = new BitSet();
    private final NameTable<Boolean> operations;

    private KeySet(Map<String, Boolean> operations) {
        this.operations = new NameTable<>(operations);
    }

    /** Of keys as another worker tells them; what is none is left out. */
    public static KeySet of(Collection<String> keys) {
        Map<String, Boolean> names = new HashMap<>();
        BitSet codes = new BitSet();
        for (String text : keys) {
            try {
                HandlerKey key = HandlerKey.parse(text);
                if (key instanceof HandlerKey.OfType ofType) {
                    codes.set(ofType.type().code());
                } else if (key instanceof HandlerKey.OfOperation operation) {
                    names.put(operation.name(), true);
                }
            } catch (IllegalArgumentException e) {
                continue; // of a later version, perhaps: its requests are begun at most once
            }
        }
        KeySet set = new KeySet(names);
        set.types.or(codes);
        return set;
    }

    /** Whether a request with this payload is among them. */
    public boolean takes(MessageType type, byte[] payload, int payloadLength) {
        if (type.code() != NAMED_CALL) {
            return types.get(type.code());
        }
        if (payloadLength < NAME_AT) {
            return false;
        }
        int length = Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE;
        return length <= Invocation.MAX_NAME_BYTES
                && NAME_AT + length <= payloadLength
                && operations.get(payload, NAME_AT, length) != null;
    }
}
