package io.waybill.query;

import java.util.regex.Pattern;

/** Pattern for names of operations, in which {@code *} stands for any letters, or none. Immutable. */
final class NamePattern {

    private static final String ANY = "*";

    private final Pattern pattern;

    NamePattern(String text) {
        StringBuilder expression = new StringBuilder();
        String[] parts = text.split(Pattern.quote(ANY), -1);
        for (int i = 0; i < parts.length; i++) {
            expression.append(i == 0 ? "" : ".*?").append(Pattern.quote(parts[i]));
        }
        this.pattern = Pattern.compile(expression.toString(), Pattern.DOTALL);
    }

    boolean matches(String name) {
        return pattern.matcher(name).matches();
    }
}
