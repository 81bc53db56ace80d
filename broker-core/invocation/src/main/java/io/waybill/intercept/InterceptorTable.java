package io.waybill.intercept;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.NameTable;
import io.waybill.dispatch.OperationPatterns;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;

/**
 * Lookup table from messages to their interceptors. Immutable; lookups allocate nothing, because the chain of each
 * combination of keys is made ahead.
 *
 * @param <T> the kind of interceptor
 */
public final class InterceptorTable<T> {

    private static final int TYPE_CODES = 0x400;
    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();
    private static final int SCRIPT_CALL = MessageType.SCRIPT_CALL.code();
    private static final int SCRIPT_REMOTE_CALL = MessageType.SCRIPT_REMOTE_CALL.code();
    /** Offset of a name in a payload, behind its length. */
    private static final int NAME_AT = 2;

    private final List<InterceptorEntry<T>> all;
    private final boolean empty;
    private final Object[] byType = new Object[TYPE_CODES]; // InterceptorChain<T>, or null
    private final NameTable<InterceptorChain<T>> operations;
    private final OperationPatterns<InterceptorChain<T>> patterns;
    private final NameTable<InterceptorChain<T>> functionCalls;
    private final NameTable<InterceptorChain<T>> functionCreations;
    private final boolean hasFunctions;
    private final boolean hasOperations;

    /**
     * Creates a table.
     *
     * @param ordered all interceptors in the order in which they are called
     */
    InterceptorTable(List<InterceptorEntry<T>> ordered) {
        all = List.copyOf(ordered);
        empty = all.isEmpty();
        for (int code = 0; code < TYPE_CODES; code++) {
            if (MessageType.isKnown(code) && isInterceptable(code) && code != NAMED_CALL) {
                byType[code] = chain(new HandlerKey.OfType(MessageType.of(code)));
            }
        }
        Map<String, InterceptorChain<T>> exact = new HashMap<>();
        Map<String, InterceptorChain<T>> prefixes = new HashMap<>();
        Map<String, InterceptorChain<T>> called = new HashMap<>();
        Map<String, InterceptorChain<T>> created = new HashMap<>();
        for (InterceptorEntry<T> entry : all) {
            for (HandlerKey key : entry.keys()) {
                if (key instanceof HandlerKey.OfOperation operation) {
                    exact.computeIfAbsent(operation.name(), name -> chain(key));
                } else if (key instanceof HandlerKey.OfOperationPrefix prefix) {
                    prefixes.computeIfAbsent(prefix.prefix(), text -> chain(key));
                } else if (key instanceof HandlerKey.OfFunction function) {
                    called.computeIfAbsent(function.name(), name -> chain(key, MessageType.SCRIPT_CALL));
                    created.computeIfAbsent(function.name(), name -> chain(key, MessageType.SCRIPT_REMOTE_CALL));
                }
            }
        }
        operations = new NameTable<>(exact);
        patterns = new OperationPatterns<>(prefixes, chain(new HandlerKey.OfAnyOperation()), each -> true);
        functionCalls = new NameTable<>(called);
        functionCreations = new NameTable<>(created);
        hasFunctions = !called.isEmpty();
        hasOperations = !exact.isEmpty() || !patterns.isEmpty();
    }

    /** Returns whether no interceptor is there. */
    public boolean isEmpty() {
        return empty;
    }

    /** Returns whether requests of this type have interceptors: not the broker's own, but fetches of a value. */
    private static boolean isInterceptable(int code) {
        boolean countsReferences =
                code >= MessageType.RREF_USER_DELETE.code() && code <= MessageType.RREF_CHILD_ACCEPT.code();
        return code >= MessageType.REQUEST_FLAG
                && code <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                && !countsReferences;
    }

    /** Returns the interceptors of a message; null for none. */
    public InterceptorChain<T> find(MessageType type, byte[] payload, int payloadLength) {
        int code = type.code();
        if (code == NAMED_CALL) {
            int length = hasOperations ? nameLength(firstTwoBytes(payload, payloadLength), payloadLength) : 0;
            if (length == 0) {
                return null;
            }
            InterceptorChain<T> exact = operations.get(payload, NAME_AT, length);
            return exact == null ? patterns.get(payload, NAME_AT, length) : exact;
        }
        if (hasFunctions && (code == SCRIPT_CALL || code == SCRIPT_REMOTE_CALL)) {
            int length = nameLength(Invocation.nameLength(firstTwoBytes(payload, payloadLength)), payloadLength);
            InterceptorChain<T> function = length == 0 ? null : functions(code).get(payload, NAME_AT, length);
            if (function != null) {
                return function;
            }
        }
        return ofType(code);
    }

    /**
     * Returns the interceptors of a message; null for none.
     *
     * @param at offset at which the payload begins
     */
    public InterceptorChain<T> find(int code, DirectBuffer buffer, int at, int payloadLength) {
        if (code == NAMED_CALL) {
            int length = hasOperations ? nameLength(firstTwoBytes(buffer, at, payloadLength), payloadLength) : 0;
            if (length == 0) {
                return null;
            }
            InterceptorChain<T> exact = operations.get(buffer, at + NAME_AT, length);
            return exact == null ? patterns.get(buffer, at + NAME_AT, length) : exact;
        }
        if (hasFunctions && (code == SCRIPT_CALL || code == SCRIPT_REMOTE_CALL)) {
            int length = nameLength(Invocation.nameLength(firstTwoBytes(buffer, at, payloadLength)), payloadLength);
            InterceptorChain<T> function = length == 0 ? null : functions(code).get(buffer, at + NAME_AT, length);
            if (function != null) {
                return function;
            }
        }
        return ofType(code);
    }

    /** Returns the interceptors of the requests of a key; null for none. */
    InterceptorChain<T> find(HandlerKey key) {
        if (key instanceof HandlerKey.OfOperation operation) {
            byte[] name = operation.name().getBytes(StandardCharsets.UTF_8);
            InterceptorChain<T> exact = operations.get(name, 0, name.length);
            return exact == null ? patterns.get(name, 0, name.length) : exact;
        }
        if (key instanceof HandlerKey.OfFunction function) {
            byte[] name = function.name().getBytes(StandardCharsets.UTF_8);
            InterceptorChain<T> exact = functionCalls.get(name, 0, name.length);
            return exact == null ? ofType(SCRIPT_CALL) : exact;
        }
        return key instanceof HandlerKey.OfType ofType ? ofType(ofType.type().code()) : null;
    }

    private NameTable<InterceptorChain<T>> functions(int code) {
        return code == SCRIPT_CALL ? functionCalls : functionCreations;
    }

    @SuppressWarnings("unchecked") // only the constructor writes it
    private InterceptorChain<T> ofType(int code) {
        return code >= 0 && code < TYPE_CODES ? (InterceptorChain<T>) byType[code] : null;
    }

    private static int firstTwoBytes(byte[] payload, int length) {
        return length < NAME_AT ? 0 : Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE;
    }

    private static int firstTwoBytes(DirectBuffer buffer, int at, int length) {
        return length < NAME_AT
                ? 0
                : Byte.toUnsignedInt(buffer.getByte(at)) | Byte.toUnsignedInt(buffer.getByte(at + 1)) << Byte.SIZE;
    }

    /** Returns a name's length; 0 when the payload holds no such name. */
    private static int nameLength(int length, int payloadLength) {
        return length > Invocation.MAX_NAME_BYTES || NAME_AT + length > payloadLength ? 0 : length;
    }

    /** Returns the interceptors of these keys, or of a pattern that covers one of them; null for none. */
    private InterceptorChain<T> chain(HandlerKey key, MessageType type) {
        List<HandlerKey> matching = new ArrayList<>(List.of(key));
        HandlerKey ofType = new HandlerKey.OfType(type);
        matching.add(ofType);
        matching.addAll(HandlerKey.patternsFor(ofType));
        return chain(matching);
    }

    private InterceptorChain<T> chain(HandlerKey key) {
        List<HandlerKey> matching = new ArrayList<>(List.of(key));
        if (key instanceof HandlerKey.OfOperationPrefix prefix) {
            String name = prefix.prefix();
            matching.addAll(HandlerKey.patternsFor(new HandlerKey.OfOperation(name.substring(0, name.length() - 1))));
        } else {
            matching.addAll(HandlerKey.patternsFor(key));
        }
        return chain(matching);
    }

    private InterceptorChain<T> chain(List<HandlerKey> matching) {
        List<InterceptorEntry<T>> chosen = new ArrayList<>();
        for (InterceptorEntry<T> entry : all) {
            if (entry.declaresAny(matching)) {
                chosen.add(entry);
            }
        }
        return chosen.isEmpty() ? null : new InterceptorChain<>(chosen);
    }
}
