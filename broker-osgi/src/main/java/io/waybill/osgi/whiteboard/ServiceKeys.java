package io.waybill.osgi.whiteboard;

import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerSpec;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.osgi.framework.ServiceReference;

/** Reads the keys that a service declares in one of its properties. */
final class ServiceKeys {

    /** Max number of a service's keys in the log. */
    private static final int MAX_SHOWN = 50;

    private ServiceKeys() {}

    /**
     * Returns the keys of a service. The property is a String for one value, and a String[] for several.
     *
     * @param kind description of the service, with an article
     * @throws IllegalArgumentException if there is none, or one is invalid
     */
    static List<HandlerKey> of(ServiceReference<?> reference, String name, String kind) {
        Object property = reference.getProperty(name);
        List<String> texts = new ArrayList<>();
        if (property instanceof String one) {
            texts.add(one);
        } else if (property instanceof String[] several) {
            texts.addAll(List.of(several));
        } else if (property instanceof Iterable<?> several) {
            several.forEach(text -> texts.add(String.valueOf(text)));
        }
        if (texts.isEmpty()) {
            throw new IllegalArgumentException(
                    kind + " says what it takes in the service property " + name + ", and there is none");
        }
        if (texts.size() > HandlerSpec.MAX_KEYS) {
            throw new IllegalArgumentException(HandlerSpec.tooMany(texts.size()));
        }
        Set<HandlerKey> keys = new LinkedHashSet<>();
        for (String text : texts) {
            HandlerKey key = HandlerKey.parse(text.strip());
            if (key instanceof HandlerKey.OfControl) {
                throw new IllegalArgumentException("control operations are the node's own: " + key.text());
            }
            keys.add(key);
        }
        return List.copyOf(keys);
    }

    /** Formats the keys for a log line. */
    static String texts(List<HandlerKey> keys) {
        String some = String.join(
                ", ", keys.stream().limit(MAX_SHOWN).map(HandlerKey::text).toList());
        return keys.size() <= MAX_SHOWN ? some : some + " and " + (keys.size() - MAX_SHOWN) + " more";
    }
}
