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
 * Parses the types of requests for each kind of fault: {@code none}, or a list separated by commas. Stateless. All
 * methods throw {@link IllegalArgumentException} with the expected form.
 */
final class InjectedTypes {

    /** Word for an empty list. */
    static final String NONE = "none";

    private InjectedTypes() {}

    /** Parses a list of types: {@code RREF_FORK_REQUEST, RREF_CHILD_ACCEPT}. */
    static Set<MessageType> types(String text) {
        return parts(text).map(InjectionSettings::type).collect(Collectors.toSet());
    }

    /** Parses a list of types with delays: {@code SCRIPT_CALL 1500ms, SCRIPT_RREF_FETCH_CALL 1s}. */
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
