package io.waybill.dispatch;

import io.waybill.api.handler.MessageHandler;
import java.util.List;
import java.util.Objects;

/**
 * Handler with its declared properties.
 *
 * @param keys keys that it takes; at least one, at most {@value #MAX_KEYS}
 * @param nonBlocking whether it runs on the worker's poller instead of {@code executor}
 * @param ranking rank among several handlers of a provider for a key: the highest is used, then the oldest
 * @param contextClassLoader set for every call of the handler
 * @param delivery policy for its requests when the worker dies and returns
 * @param executor executor of the provider; closed by its creator, after the handler was withdrawn
 */
public record HandlerSpec(
        List<HandlerKey> keys,
        MessageHandler handler,
        boolean nonBlocking,
        Provider provider,
        int ranking,
        ClassLoader contextClassLoader,
        DeliveryPolicy delivery,
        HandlerExecutor executor) {

    /** Max keys of a handler: each is copied with every change of the handlers, and shown to operators. */
    public static final int MAX_KEYS = 10_000;

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
        this(keys, handler, nonBlocking, provider, ranking, contextClassLoader, DeliveryPolicy.AT_MOST_ONCE, executor);
    }

    /** Returns the reason for rejecting a handler with this number of keys. */
    public static String tooMany(int keys) {
        return "a handler takes at most " + MAX_KEYS + " types and operations, and one declares " + keys
                + "; take a type of its own, and tell its requests apart by what they carry";
    }

    /** Returns a copy with another delivery policy. */
    public HandlerSpec withDelivery(DeliveryPolicy other) {
        return new HandlerSpec(keys, handler, nonBlocking, provider, ranking, contextClassLoader, other, executor);
    }

    /** Returns a handler for one key that may block, with the ranking 0 and its own class loader. */
    public static HandlerSpec of(HandlerKey key, MessageHandler handler, Provider provider, HandlerExecutor executor) {
        ClassLoader own = handler.getClass().getClassLoader();
        return new HandlerSpec(List.of(key), handler, false, provider, 0, own, executor);
    }
}
