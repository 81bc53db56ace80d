package io.waybill.distribution;

import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/** Manual pages of the command and its subcommands, in section 1: what their {@code --help} says, as roff. */
final class ManPages {

    /** Width of a terminal of 80 columns beside the indentation of man. */
    private static final int SYNOPSIS_COLUMNS = 72;

    private static final String EXIT_STATUS = "0 for success, 1 for failure, 2 for wrong usage.";

    private final StringBuilder page = new StringBuilder();

    private ManPages() {}

    /** Writes a page for each command, such as {@code waybill-journal-list.1}. */
    static void writeTo(Path directory, String version) throws IOException {
        Files.createDirectories(directory);
        write(commands(), directory, version);
    }

    /** Returns the command with all its subcommands, ready to describe and not to run. */
    static CommandSpec commands() {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        Path none = Path.of("none");
        return Commands.line(new Surroundings(
                        nowhere, nowhere, Surroundings.Watcher.PROGRAM, none, Optional.empty(), none, "", Map.of()))
                .getCommandSpec();
    }

    static String fileName(CommandSpec command) {
        return dashed(command) + ".1";
    }

    private static void write(CommandSpec command, Path directory, String version) throws IOException {
        Files.writeString(directory.resolve(fileName(command)), new ManPages().of(command, version));
        for (CommandLine child : command.subcommands().values()) {
            write(child.getCommandSpec(), directory, version);
        }
    }

    private String of(CommandSpec command, String version) {
        UsageMessageSpec usage = command.usageMessage();
        line(".TH \"" + dashed(command).toUpperCase(java.util.Locale.ROOT) + "\" 1 \"\" \"waybill " + version
                + "\" \"Waybill\"");
        section("NAME");
        line(text(dashed(command)) + " \\- " + text(String.join(" ", usage.header())));
        section("SYNOPSIS");
        usage.width(SYNOPSIS_COLUMNS);
        lines(new CommandLine.Help(command, CommandLine.Help.defaultColorScheme(CommandLine.Help.Ansi.OFF))
                .synopsis(0));
        if (usage.description().length > 0) {
            section("DESCRIPTION");
            line(text(String.join(" ", usage.description())));
        }
        arguments(command);
        children(command);
        if (usage.footer().length > 0) {
            section("NOTES");
            lines(String.join("\n", usage.footer()).strip());
        }
        section("EXIT STATUS");
        line(EXIT_STATUS);
        seeAlso(command);
        return page.toString();
    }

    private void arguments(CommandSpec command) {
        List<PositionalParamSpec> positional = shown(command.positionalParameters());
        if (!positional.isEmpty()) {
            section("ARGUMENTS");
            positional.forEach(argument -> argument(argument, argument.paramLabel(), command));
        }
        List<OptionSpec> options = shown(command.options());
        if (!options.isEmpty()) {
            section("OPTIONS");
            options.forEach(option -> argument(option, names(option), command));
        }
    }

    private void argument(ArgSpec argument, String names, CommandSpec command) {
        line(".TP");
        line("\\fB" + text(names) + "\\fR");
        line(text(String.join(" ", argument.description())));
    }

    private void children(CommandSpec command) {
        if (command.subcommands().isEmpty()) {
            return;
        }
        section("COMMANDS");
        command.subcommands().values().stream()
                .map(CommandLine::getCommandSpec)
                .filter(child -> !child.usageMessage().hidden())
                .forEach(child -> {
                    line(".TP");
                    line("\\fB" + text(dashed(child)) + "\\fR(1)");
                    line(text(String.join(" ", child.usageMessage().header())));
                });
    }

    private void seeAlso(CommandSpec command) {
        List<String> others = new ArrayList<>();
        if (command.parent() != null) {
            others.add("\\fB" + text(dashed(command.parent())) + "\\fR(1)");
        }
        others.add("the book, share/book/index.html of the distribution");
        section("SEE ALSO");
        line(String.join(", ", others));
    }

    private static <T extends ArgSpec> List<T> shown(List<T> arguments) {
        return arguments.stream().filter(argument -> !argument.hidden()).toList();
    }

    private static String names(OptionSpec option) {
        String names = String.join(", ", option.names());
        return option.arity().max() == 0 ? names : names + "=" + option.paramLabel();
    }

    private static String dashed(CommandSpec command) {
        return command.qualifiedName("-");
    }

    private void section(String title) {
        line(".SH \"" + title + "\"");
    }

    /** Adds lines as they are, not filled. */
    private void lines(String block) {
        line(".nf");
        line(block.strip().lines().map(ManPages::text).collect(Collectors.joining("\n")));
        line(".fi");
    }

    private void line(String line) {
        page.append(line).append('\n');
    }

    /** Escapes what roff would take for its own. */
    private static String text(String plain) {
        String escaped = plain.replace("$$", "$")
                .replace("%n", "\n")
                .replace("%%", "%")
                .replace("\\", "\\e")
                .replace("-", "\\-");
        return escaped.lines()
                .map(line -> line.startsWith(".") || line.startsWith("'") ? "\\&" + line : line)
                .collect(Collectors.joining("\n"));
    }
}
