package io.waybill.worker;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.Provider;
import io.waybill.home.Served;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.note.Responders;
import io.waybill.home.note.Responders.Responder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The handler keys that a worker publishes in its record, up to the space there.
 *
 * <p><b>Threads.</b> Any.
 */
final class ServedKeys {

    /** Space for the keys of at-least-once handlers: a quarter of a worker's record. */
    private static final int MAX_AGAIN_BYTES = 16 << 10;
    /** Space for the separators around each key. */
    private static final int BYTES_BETWEEN = 4;

    private static final int MAX_LEFT_CHARS = 1000;

    private final HandlerRegistry registry;
    private final Set<Responder> noted = new HashSet<>(); // guarded by this

    ServedKeys(HandlerRegistry registry) {
        this.registry = registry;
    }

    /**
     * Returns the keys that peers may call now, and the keys among them whose handlers run again in a later
     * incarnation.
     */
    Served now() {
        Set<String> served = served();
        return new Served(List.copyOf(served), atLeastOnce(served));
    }

    /** Records the providers of the handlers, by which readers name the providers of responses. */
    synchronized void noteResponders(WorkerDirectory directory) throws IOException {
        Set<Responder> now = new LinkedHashSet<>();
        for (HandlerStatus status : registry.statuses()) {
            Provider by = status.provider();
            now.add(new Responder(by.number(), by.name(), by.version()));
        }
        if (!noted.containsAll(now)) {
            Responders.add(directory.path(), now, directory.home().host().files());
            noted.addAll(now);
        }
    }

    /** Returns the keys whose handlers left and for which requests park, between blanks, as far as they fit. */
    String left() {
        StringBuilder text = new StringBuilder();
        for (String key : keysIn(HandlerInfo.State.LEFT)) {
            if (text.length() + key.length() < MAX_LEFT_CHARS) {
                text.append(text.isEmpty() ? "" : " ").append(key);
            }
        }
        return text.toString();
    }

    /** Returns the keys of handlers in this state, sorted. */
    List<String> keysIn(HandlerInfo.State state) {
        Set<String> keys = new TreeSet<>();
        for (HandlerStatus status : registry.statuses()) {
            if (status.state() == state) {
                keys.add(status.key().text());
            }
        }
        return List.copyOf(keys);
    }

    /** Returns the served keys: operations first, then functions, up to the space in a record. */
    private Set<String> served() {
        List<String> keys = new ArrayList<>();
        List<String> functions = new ArrayList<>();
        for (String key : keysIn(HandlerInfo.State.SERVING)) {
            (key.startsWith(HandlerKey.FUNCTION_PREFIX) ? functions : keys).add(key);
        }
        keys.addAll(functions);
        Set<String> served = new LinkedHashSet<>();
        int left = Served.MAX_NAME_BYTES;
        for (String key : keys) {
            boolean isName = key.startsWith(HandlerKey.FUNCTION_PREFIX) || key.indexOf('.') >= 0;
            left -= isName ? key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN : 0;
            if (!isName || left >= 0) {
                served.add(key);
            }
        }
        return served;
    }

    /**
     * Returns the served keys that are declared at-least-once, up to the space in a record; the other keys count as at
     * most once.
     */
    private List<String> atLeastOnce(Set<String> served) {
        List<String> again = new ArrayList<>();
        int left = MAX_AGAIN_BYTES;
        Set<String> declared = new TreeSet<>();
        for (HandlerStatus status : registry.statuses()) {
            if (status.state() == HandlerInfo.State.SERVING && status.delivery() == DeliveryPolicy.AT_LEAST_ONCE) {
                declared.add(status.key().text());
            }
        }
        for (String key : declared) {
            left -= key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN;
            if (left >= 0 && served.contains(key)) {
                again.add(key);
            }
        }
        return again;
    }
}
