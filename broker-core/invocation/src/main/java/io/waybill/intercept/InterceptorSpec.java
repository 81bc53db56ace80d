package io.waybill.intercept;

import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import java.util.List;
import java.util.Objects;

/**
 * Interceptor with its declared properties.
 *
 * @param keys the messages that it is called for; at least one, at most {@link HandlerSpec#MAX_KEYS}
 * @param ignored types that it is not called for, even if {@code keys} cover them
 * @param ranking the highest is nearest to the program or the handler; of equal ones the first by name
 * @param name the same in each version of a bundle: of the bundle and its component; empty for those of a program,
 * which are called in the order in which they were added
 * @param whenAway policy for its messages while its provider is replaced
 * @param <T> the kind of interceptor
 */
public record InterceptorSpec<T>(
        List<HandlerKey> keys,
        List<HandlerKey> ignored,
        T interceptor,
        Provider provider,
        int ranking,
        String name,
        AwayPolicy whenAway) {

    public InterceptorSpec {
        keys = List.copyOf(keys);
        ignored = List.copyOf(ignored);
        Objects.requireNonNull(interceptor);
        Objects.requireNonNull(provider);
        Objects.requireNonNull(name);
        Objects.requireNonNull(whenAway);
        if (keys.isEmpty()) {
            throw new IllegalArgumentException("an interceptor of " + provider + " declares no message");
        }
        if (keys.size() > HandlerSpec.MAX_KEYS) {
            throw new IllegalArgumentException("an interceptor declares at most " + HandlerSpec.MAX_KEYS
                    + " types and operations, and one of " + provider + " declares " + keys.size());
        }
        for (HandlerKey key : ignored) {
            if (!(key instanceof HandlerKey.OfType)) {
                throw new IllegalArgumentException(
                        "an interceptor ignores types of requests, and one of " + provider + " ignores " + key.text());
            }
        }
        for (HandlerKey key : keys) {
            if (key instanceof HandlerKey.OfControl) {
                throw new IllegalArgumentException("control operations are the node's own: " + key.text());
            }
        }
    }

    /** Creates an interceptor without a name, whose messages wait while its provider is replaced. */
    public InterceptorSpec(
            List<HandlerKey> keys, List<HandlerKey> ignored, T interceptor, Provider provider, int ranking) {
        this(keys, ignored, interceptor, provider, ranking, "", AwayPolicy.PARK);
    }

    /** Creates an interceptor that ignores nothing. */
    public InterceptorSpec(List<HandlerKey> keys, T interceptor, Provider provider, int ranking) {
        this(keys, List.of(), interceptor, provider, ranking);
    }

    /** Creates an interceptor for everything, with the ranking 0. */
    public static <T> InterceptorSpec<T> ofAll(T interceptor, Provider provider) {
        return new InterceptorSpec<>(
                List.of(new HandlerKey.OfAnyOperation(), new HandlerKey.OfAnyType()), interceptor, provider, 0);
    }
}
