package io.waybill.api.tool;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Name, options and help of a command. Immutable; created with {@link #of} and the methods that return a changed copy.
 *
 * @param name such as {@code top}: lower-case letters, digits and hyphens
 * @param summary one line, for lists
 * @param help more about the command; may be empty
 * @param options in addition to those of every command: {@code --node}, {@code --home}, {@code --json} and
 *     {@code --help}
 * @param argument name of its arguments in the help, such as {@code OPERATION}; empty when it takes none
 * @param minArguments min number of arguments
 * @param maxArguments max number of arguments
 * @param limit max duration of a run; {@link Duration#ZERO} for a command that runs until the user ends it
 */
public record ToolDescription(
        String name,
        String summary,
        String help,
        List<ToolOption> options,
        String argument,
        int minArguments,
        int maxArguments,
        Duration limit) {

    /** Max duration of a run if the description sets none. */
    public static final Duration DEFAULT_LIMIT = Duration.ofMinutes(1);

    /** Options that every command has. */
    public static final Set<String> COMMON_OPTIONS = Set.of("--node", "--home", "--json", "--help", "--version");

    private static final Duration MAX_LIMIT = Duration.ofDays(1);
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]{0,30}");
    private static final int MAX_SUMMARY = 200;
    private static final int MAX_HELP = 10_000;
    private static final int MAX_OPTIONS = 50;
    private static final int MAX_ARGUMENTS = 1_000;

    /** Validates the parts. */
    public ToolDescription {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "a command's name is 1 to 31 lower-case letters, digits and hyphens, and not '" + name + "'");
        }
        if (summary.isBlank() || summary.length() > MAX_SUMMARY || summary.indexOf('\n') >= 0) {
            throw new IllegalArgumentException("the summary of command " + name + " is one line of at most "
                    + MAX_SUMMARY + " characters, and not '" + summary + "'");
        }
        if (help.length() > MAX_HELP) {
            throw new IllegalArgumentException(
                    "the help of command " + name + " has at most " + MAX_HELP + " characters, not " + help.length());
        }
        options = List.copyOf(options);
        requireOptions(name, options);
        if (minArguments < 0 || maxArguments < minArguments || maxArguments > MAX_ARGUMENTS) {
            throw new IllegalArgumentException("command " + name + " takes 0 to " + MAX_ARGUMENTS
                    + " arguments, and not " + minArguments + " to " + maxArguments);
        }
        if (argument.isEmpty() != (maxArguments == 0)) {
            throw new IllegalArgumentException("the arguments of command " + name + " need a name, if it takes some");
        }
        if (limit.isNegative() || limit.compareTo(MAX_LIMIT) > 0) {
            throw new IllegalArgumentException(
                    "the limit of command " + name + " is 0 to " + MAX_LIMIT.toHours() + " hours, and not " + limit);
        }
    }

    private static void requireOptions(String name, List<ToolOption> options) {
        if (options.size() > MAX_OPTIONS) {
            throw new IllegalArgumentException(
                    "command " + name + " has at most " + MAX_OPTIONS + " options, not " + options.size());
        }
        List<String> names = options.stream().map(ToolOption::name).toList();
        for (String option : names) {
            if (COMMON_OPTIONS.contains(option) || names.indexOf(option) != names.lastIndexOf(option)) {
                throw new IllegalArgumentException("option " + option + " of command " + name
                        + (COMMON_OPTIONS.contains(option) ? " is one of every command" : " is there twice"));
            }
        }
    }

    /** Creates the description of a command without options and arguments. */
    public static ToolDescription of(String name, String summary) {
        return new ToolDescription(name, summary, "", List.of(), "", 0, 0, DEFAULT_LIMIT);
    }

    /** Returns a copy with a text below the summary. */
    public ToolDescription help(String text) {
        return new ToolDescription(name, summary, text, options, argument, minArguments, maxArguments, limit);
    }

    /** Returns a copy with an additional option that has a value. */
    public ToolDescription option(String option, String value, String text) {
        if (value.isEmpty()) {
            throw new IllegalArgumentException(
                    "option " + option + " of command " + name + " needs a name of its value");
        }
        return with(new ToolOption(option, value, text));
    }

    /** Returns a copy with an additional option that has no value. */
    public ToolDescription flag(String option, String text) {
        return with(new ToolOption(option, "", text));
    }

    private ToolDescription with(ToolOption option) {
        List<ToolOption> more = new ArrayList<>(options);
        more.add(option);
        return new ToolDescription(name, summary, help, more, argument, minArguments, maxArguments, limit);
    }

    /** Returns a copy with this number of arguments. */
    public ToolDescription arguments(String argumentName, int min, int max) {
        return new ToolDescription(name, summary, help, options, argumentName, min, max, limit);
    }

    /** Returns a copy with a max duration of a run; {@link Duration#ZERO} for no limit. */
    public ToolDescription limit(Duration other) {
        return new ToolDescription(name, summary, help, options, argument, minArguments, maxArguments, other);
    }
}
