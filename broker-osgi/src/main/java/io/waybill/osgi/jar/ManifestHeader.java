package io.waybill.osgi.jar;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One clause of a header such as {@code Export-Package}: its names, attributes and directives. The text is untrusted;
 * invalid parts are ignored. Immutable.
 *
 * @param names names before the first parameter
 * @param parameters such as {@code version="1.0.0"} or {@code resolution:=optional}, without the quotes
 */
public record ManifestHeader(List<String> names, List<String> parameters) {

    /** Parses the clauses of a header. */
    public static List<ManifestHeader> parse(String header) {
        List<ManifestHeader> clauses = new ArrayList<>();
        for (String clause : split(header, ',')) {
            List<String> names = new ArrayList<>();
            List<String> parameters = new ArrayList<>();
            for (String part : split(clause, ';')) {
                String trimmed = part.strip();
                (trimmed.indexOf('=') < 0 ? names : parameters).add(trimmed);
            }
            clauses.add(new ManifestHeader(List.copyOf(names), List.copyOf(parameters)));
        }
        return clauses;
    }

    /** Returns the value of {@code key=value}. */
    public Optional<String> attribute(String key) {
        return parameter(key + "=");
    }

    /** Returns the value of {@code key:=value}. */
    Optional<String> directive(String key) {
        return parameter(key + ":=");
    }

    private Optional<String> parameter(String start) {
        return parameters.stream()
                .filter(parameter -> parameter.startsWith(start))
                .map(parameter -> unquote(parameter.substring(start.length()).strip()))
                .findFirst();
    }

    private static String unquote(String text) {
        boolean quoted = text.length() >= 2 && text.startsWith("\"") && text.endsWith("\"");
        return quoted ? text.substring(1, text.length() - 1) : text;
    }

    private static List<String> split(String text, char separator) {
        List<String> parts = new ArrayList<>();
        boolean quoted = false;
        int start = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"') {
                quoted = !quoted;
            } else if (c == separator && !quoted) {
                parts.add(text.substring(start, i));
                start = i + 1;
            }
        }
        parts.add(text.substring(start));
        return parts;
    }
}
