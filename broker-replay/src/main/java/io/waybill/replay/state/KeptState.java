package io.waybill.replay.state;

import io.waybill.api.broker.Broker;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.state.StateStore;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Searches an object of a bundle for state that it may keep between calls: fields that are set, and collections,
 * counters, arrays and stores, in itself and in the objects that it references. Neither a finding nor its absence is a
 * proof: state may be in a service, in a file or in another class's static field.
 */
public final class KeptState {

    private static final int MAX_OBJECTS = 1000;

    private final Set<ClassLoader> foreign =
            Collections.newSetFromMap(new IdentityHashMap<>()); // loaders of classes outside of bundles
    private final ClassLoader own;
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> open = new ArrayDeque<>();

    private KeptState(Object root) {
        own = root.getClass().getClassLoader();
        foreign.add(null);
        foreign.add(ClassLoader.getPlatformClassLoader());
        foreign.add(MessageHandler.class.getClassLoader());
        foreign.remove(own); // handlers of a program are in the API's loader
        add(root);
    }

    /** Returns the first field that may hold state, such as {@code org.acme.Cart.items}; empty if there is none. */
    public static Optional<String> of(Object root) {
        return new KeptState(root).find();
    }

    private Optional<String> find() {
        while (!open.isEmpty()) {
            Object next = open.remove();
            for (Class<?> type = next.getClass(); type != null && isOfBundle(type); type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (keeps(field, next)) {
                        return Optional.of(type.getName() + "." + field.getName());
                    }
                }
            }
        }
        return Optional.empty();
    }

    private boolean isOfBundle(Class<?> type) {
        return type.getClassLoader() == own || !foreign.contains(type.getClassLoader());
    }

    private void add(Object object) {
        Class<?> type = object.getClass();
        if (isOfBundle(type) && !type.isArray() && !type.isEnum() && seen.size() < MAX_OBJECTS && seen.add(object)) {
            open.add(object);
        }
    }

    private boolean keeps(Field field, Object holder) {
        boolean isStatic = Modifier.isStatic(field.getModifiers());
        boolean isSet = !Modifier.isFinal(field.getModifiers());
        Class<?> type = field.getType();
        if (field.isSynthetic() && isStatic) { // added by a tool
            return false;
        } else if (isSet && (isStatic || type.isPrimitive() || type == String.class || isOfBundle(type))) {
            return true;
        } else if (!field.trySetAccessible()) {
            return false;
        }
        try {
            Object value = field.get(isStatic ? null : holder);
            if (value == null) {
                return false;
            }
            add(value);
            return isStatic && type.isArray() ? false : isHolder(value);
        } catch (IllegalAccessException e) {
            return false;
        }
    }

    private static boolean isHolder(Object value) {
        String type = value.getClass().getName();
        if (value instanceof Map || value instanceof Collection) {
            return !type.startsWith("java.util.ImmutableCollections") && !type.startsWith("java.util.Collections$");
        }
        return value.getClass().isArray()
                || type.startsWith("java.util.concurrent.atomic.")
                || value instanceof BitSet
                || value instanceof StringBuilder
                || value instanceof RandomGenerator
                || value instanceof StateStore
                || value instanceof Broker;
    }
}
