package io.waybill.worker;

import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.home.Served;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * What a worker tells others of its handlers: as many keys as its record has room for.
 *
 * <p><b>Threads.</b> Any.
 */
final class ServedKeys {

    /** Of all functions and operations in a worker's record, half of what fits there. */
    private static final int MAX_NAME_BYTES = 32 << 10;
    /** Of all that it runs again, a quarter. */
    private static final int MAX_AGAIN_BYTES = 16 << 10;
    /** Of the separators around each key. */
    private static final int BYTES_BETWEEN = 4;

    private final HandlerRegistry registry;

    ServedKeys(HandlerRegistry registry) {
        this.registry = registry;
    }

    /** What others may call now, and what of it runs again in a later incarnation. */
    Served now() {
        Set<String> served = served();
        return new Served(List.copyOf(served), atLeastOnce(served));
    }

    /** The keys of handlers in this state, sorted. */
    List<String> keysIn(HandlerStatus.State state) {
        return keysIn(state, status -> true);
    }

    /** What it serves: operations and then functions only as many as a record has room for. */
    private Set<String> served() {
        List<String> keys = new ArrayList<>(keysIn(HandlerStatus.State.SERVING));
        keys.sort(Comparator.comparing(key -> key.startsWith(HandlerKey.FUNCTION_PREFIX)));
        Set<String> served = new LinkedHashSet<>();
        int left = MAX_NAME_BYTES;
        for (String key : keys) {
            boolean isName = key.startsWith(HandlerKey.FUNCTION_PREFIX) || key.indexOf('.') >= 0;
            left -= isName ? key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN : 0;
            if (!isName || left >= 0) {
                served.add(key);
            }
        }
        return served;
    }

    /** What of that it runs again after it died: as much as a record has room for, and the rest at most once. */
    private List<String> atLeastOnce(Set<String> served) {
        List<String> again = new ArrayList<>();
        int left = MAX_AGAIN_BYTES;
        for (String key :
                keysIn(HandlerStatus.State.SERVING, status -> status.delivery() == DeliveryPolicy.AT_LEAST_ONCE)) {
            left -= key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN;
            if (left >= 0 && served.contains(key)) {
                again.add(key);
            }
        }
        return again;
    }

    private List<String> keysIn(HandlerStatus.State state, Predicate<HandlerStatus> which) {
        return registry.statuses().stream()
                .filter(status -> status.state() == state && which.test(status))
                .map(status -> status.key().text())
                .distinct()
                .sorted()
                .toList();
    }
}
