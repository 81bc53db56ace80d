package io.waybill.tool;

import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Words of a command line, parsed by the description of the command: options with their values, and arguments.
 *
 * @param arguments arguments in order
 * @param options values by name; the empty text for a flag
 */
record ToolArguments(List<String> arguments, Map<String, String> options) {

    ToolArguments {
        arguments = List.copyOf(arguments);
        options = Map.copyOf(options);
    }

    /**
     * Parses the words. {@code --} ends the options.
     *
     * @throws ToolFailedException when they don't fit the description
     */
    static ToolArguments parse(ToolDescription description, List<String> words) throws ToolFailedException {
        List<String> arguments = new ArrayList<>();
        Map<String, String> options = new LinkedHashMap<>();
        boolean optionsEnded = false;
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            if (optionsEnded || !word.startsWith("--")) {
                arguments.add(word);
            } else if (word.equals("--")) {
                optionsEnded = true;
            } else {
                int equals = word.indexOf('=');
                ToolOption option = find(description, equals < 0 ? word : word.substring(0, equals));
                String value = equals < 0 ? "" : word.substring(equals + 1);
                if (option.isFlag() && equals >= 0) {
                    throw usage("option " + option.name() + " has no value");
                }
                if (!option.isFlag() && equals < 0) {
                    if (++i == words.size()) {
                        throw usage(
                                "option " + option.name() + " needs a value: " + option.name() + " " + option.value());
                    }
                    value = words.get(i);
                }
                if (options.put(option.name(), value) != null) {
                    throw usage("option " + option.name() + " is given twice");
                }
            }
        }
        requireCount(description, arguments);
        return new ToolArguments(arguments, options);
    }

    private static ToolOption find(ToolDescription description, String name) throws ToolFailedException {
        Optional<ToolOption> found = description.options().stream()
                .filter(option -> option.name().equals(name))
                .findFirst();
        if (found.isPresent()) {
            return found.get();
        }
        List<String> names =
                description.options().stream().map(ToolOption::name).toList();
        throw usage("unknown option " + name + "; "
                + (names.isEmpty() ? "the command has none" : "there are " + String.join(", ", names)));
    }

    private static void requireCount(ToolDescription description, List<String> arguments) throws ToolFailedException {
        int min = description.minArguments();
        int max = description.maxArguments();
        if (arguments.size() < min || arguments.size() > max) {
            String expected = max == 0
                    ? "no arguments"
                    : (min == max ? "" + min : min + " to " + max) + " of " + description.argument();
            throw usage("expected " + expected + ", found " + arguments.size());
        }
    }

    private static ToolFailedException usage(String text) {
        return new ToolFailedException(ToolFailedException.USAGE, text);
    }
}
