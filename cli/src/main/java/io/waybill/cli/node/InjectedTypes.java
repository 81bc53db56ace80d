package io.waybill.cli.node;

import io.waybill.api.MessageType;
import io.waybill.injection.InjectionSettings;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads which types of requests meet which fault, as people write it: {@code none}, or several with commas between. Stateless. All throw
 * {@link IllegalArgumentException} with the form expected.
 */
final class InjectedTypes {

    /** Word for no types. */
    static final String NONE = "none";

    private InjectedTypes() {}

    /** {@code RREF_FORK_REQUEST, RREF_CHILD_ACCEPT}. */
    static Set<MessageType> types(String text) {
        return parts(text).map(InjectionSettings::type).collect(Collectors.toSet());
    }

    /** {@code SCRIPT_CALL 1500ms, SCRIPT_RREF_FETCH_CALL 1s}. */
    static Map<MessageType, Duration> delays(String text) {
        Map<MessageType, Duration> delays = new HashMap<>();
        parts(text).forEach(part -> {
            String[] words = part.split("\\s+");
            if (words.length != 2) {
                throw new IllegalArgumentException(
                        "expected a type and a time, such as SCRIPT_CALL 500ms, found '" + part + "'");
            }
            delays.put(InjectionSettings.type(words[0]), Quantities.duration(words[1]));
        });
        return delays;
    }

    private static Stream<String> parts(String text) {
        return text.strip().equals(NONE)
                ? Stream.empty()
                : Arrays.stream(text.strip().split("\\s*,\\s*"));
    }
}
