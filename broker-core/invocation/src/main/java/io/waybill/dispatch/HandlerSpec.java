package io.waybill.dispatch;

import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Handler with its declared properties.
 *
 * @param keys keys that it takes; at least one, at most {@value #MAX_KEYS}
 * @param nonBlocking whether it runs on the worker's poller instead of {@code executor}
 * @param ranking rank among several handlers of a provider for a key: the highest is used, then the oldest
 * @param contextClassLoader set for every call of the handler
 * @param delivery policy for its requests when the worker dies and returns
 * @param executor executor of the provider; closed by its creator, after the handler was withdrawn
 * @param descriptions descriptions of operations that it takes; at most {@value #MAX_DESCRIPTIONS}
 */
public record HandlerSpec(
        List<HandlerKey> keys,
        MessageHandler handler,
        boolean nonBlocking,
        Provider provider,
        int ranking,
        ClassLoader contextClassLoader,
        DeliveryPolicy delivery,
        HandlerExecutor executor,
        List<OperationDescription> descriptions) {

    /** Max keys of a handler: each is copied with every change of the handlers, and shown to operators. */
    public static final int MAX_KEYS = 10_000;

    private static final int MAX_SHOWN = 10;

    /** Max descriptions of a handler: they stay in memory, some 40 KB each at most. */
    public static final int MAX_DESCRIPTIONS = 1_000;

    public HandlerSpec {
        if (keys.size() > MAX_KEYS) {
            throw new IllegalArgumentException(tooMany(keys.size()));
        }
        keys = List.copyOf(keys);
        if (keys.isEmpty()) {
            throw new IllegalArgumentException("a handler of " + provider + " declares nothing that it takes");
        }
        if (keys.stream().distinct().count() != keys.size()) {
            throw new IllegalArgumentException("a handler of " + provider + " declares a key twice: " + keys);
        }
        Objects.requireNonNull(handler);
        Objects.requireNonNull(provider);
        Objects.requireNonNull(contextClassLoader);
        Objects.requireNonNull(delivery);
        Objects.requireNonNull(executor);
        descriptions = List.copyOf(descriptions);
        requireHandled(descriptions, keys);
    }

    /** Creates a specification with at-most-once delivery. */
    public HandlerSpec(
            List<HandlerKey> keys,
            MessageHandler handler,
            boolean nonBlocking,
            Provider provider,
            int ranking,
            ClassLoader contextClassLoader,
            HandlerExecutor executor) {
        this(
                keys,
                handler,
                nonBlocking,
                provider,
                ranking,
                contextClassLoader,
                DeliveryPolicy.AT_MOST_ONCE,
                executor,
                List.of());
    }

    /** Returns the reason for rejecting a handler with this number of keys. */
    public static String tooMany(int keys) {
        return "a handler takes at most " + MAX_KEYS + " types and operations, and one declares " + keys
                + "; take a type of its own, and tell its requests apart by what they carry";
    }

    /** Returns a copy with another delivery policy. */
    public HandlerSpec withDelivery(DeliveryPolicy other) {
        return new HandlerSpec(
                keys, handler, nonBlocking, provider, ranking, contextClassLoader, other, executor, descriptions);
    }

    /**
     * Returns a copy with descriptions of operations.
     *
     * @throws IllegalArgumentException when it does not handle one of them, or they are too many
     */
    public HandlerSpec withDescriptions(List<OperationDescription> all) {
        return new HandlerSpec(
                keys, handler, nonBlocking, provider, ranking, contextClassLoader, delivery, executor, all);
    }

    /**
     * Checks that a handler of these keys takes each described operation.
     *
     * @throws IllegalArgumentException when it does not, or one is described twice, or they are too many
     */
    private static void requireHandled(List<OperationDescription> descriptions, List<HandlerKey> keys) {
        if (descriptions.size() > MAX_DESCRIPTIONS) {
            throw new IllegalArgumentException("a handler describes at most " + MAX_DESCRIPTIONS
                    + " operations, and one describes " + descriptions.size());
        }
        Set<HandlerKey> described = new HashSet<>();
        for (OperationDescription each : descriptions) {
            HandlerKey key = HandlerKey.parse(each.name());
            if (!isHandled(key, keys)) {
                throw new IllegalArgumentException("the description of operation " + each.name()
                        + ": expected a key of its handler, which takes "
                        + keys.stream().limit(MAX_SHOWN).map(HandlerKey::text).toList()
                        + (keys.size() > MAX_SHOWN ? " and " + (keys.size() - MAX_SHOWN) + " more" : ""));
            }
            if (!described.add(key)) {
                throw new IllegalArgumentException("a handler describes the operation " + each.name() + " twice");
            }
        }
    }

    /** Returns whether a handler of these keys takes the requests of a key, by the key itself or by a pattern. */
    public static boolean isHandled(HandlerKey key, List<HandlerKey> keys) {
        return keys.contains(key) || HandlerKey.patternsFor(key).stream().anyMatch(keys::contains);
    }

    /** Returns a handler for one key that may block, with the ranking 0 and its own class loader. */
    public static HandlerSpec of(HandlerKey key, MessageHandler handler, Provider provider, HandlerExecutor executor) {
        ClassLoader own = handler.getClass().getClassLoader();
        return new HandlerSpec(List.of(key), handler, false, provider, 0, own, executor);
    }
}
