package io.waybill.api.tool;

import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Option of a command.
 *
 * @param name such as {@code --every}
 * @param value name of its value in the help, such as {@code TIME}; empty for a flag
 * @param text what it does, in one sentence
 */
public record ToolOption(String name, String value, String text) {

    private static final Pattern NAME = Pattern.compile("--[a-z][a-z0-9-]{0,30}");
    private static final Pattern VALUE = Pattern.compile("[A-Z][A-Z0-9_-]{0,30}");
    private static final int MAX_TEXT = 1_000;

    /** Validates the parts. */
    public ToolOption {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("an option is written --name, and not '" + name + "'");
        }
        if (!value.isEmpty() && !VALUE.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "the value of option " + name + " is named in capitals, and not '" + value + "'");
        }
        if (Objects.requireNonNull(text).length() > MAX_TEXT) {
            throw new IllegalArgumentException(
                    "the text of option " + name + " has at most " + MAX_TEXT + " characters, not " + text.length());
        }
    }

    /** Returns whether the option has no value. */
    public boolean isFlag() {
        return value.isEmpty();
    }
}
