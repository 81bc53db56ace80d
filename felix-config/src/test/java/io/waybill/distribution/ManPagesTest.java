package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Each command has a manual page with all its options. */
@Timeout(60)
class ManPagesTest {

    @TempDir
    Path directory;

    @Test
    void describesEachCommandWithItsOptions() throws IOException {
        ManPages.writeTo(directory, "0.1.0");

        List<CommandSpec> commands = new ArrayList<>();
        collect(ManPages.commands(), commands);
        assertThat(commands).hasSizeGreaterThan(40);
        for (CommandSpec command : commands) {
            String page = Files.readString(directory.resolve(ManPages.fileName(command)));
            assertThat(page)
                    .startsWith(".TH \"WAYBILL")
                    .contains(".SH \"NAME\"", ".SH \"SYNOPSIS\"", ".SH \"EXIT STATUS\"");
            for (OptionSpec option : command.options()) {
                String name = option.names()[option.names().length - 1];
                assertThat(page.contains(name.replace("-", "\\-")))
                        .as("%s in %s", name, command.qualifiedName())
                        .isEqualTo(!option.hidden());
            }
            for (CommandLine child : command.subcommands().values()) {
                assertThat(page)
                        .contains(ManPages.fileName(child.getCommandSpec())
                                .replaceFirst("\\.1$", "")
                                .replace("-", "\\-"));
            }
        }
        try (Stream<Path> pages = Files.list(directory)) {
            assertThat(pages).hasSameSizeAs(commands);
        }
    }

    @Test
    void letsNoTextBecomeARequestOfRoff() throws IOException {
        ManPages.writeTo(directory, "0.1.0");

        List<String> strange;
        try (Stream<Path> pages = Files.list(directory)) {
            strange = pages.flatMap(ManPagesTest::lines)
                    .filter(line -> line.startsWith(".") || line.startsWith("'"))
                    .filter(line -> !line.matches("\\.(TH .*|SH \"[A-Z ]+\"|TP|nf|fi)"))
                    .toList();
        }
        assertThat(strange).isEmpty();
    }

    /** Its lines are not filled: man would break those that are longer at the edge of the terminal. */
    @Test
    void hasASynopsisThatFitsATerminal() throws IOException {
        ManPages.writeTo(directory, "0.1.0");

        List<String> wide = new ArrayList<>();
        try (Stream<Path> pages = Files.list(directory)) {
            for (Path page : pages.toList()) {
                String text = Files.readString(page);
                text.substring(text.indexOf(".nf\n"), text.indexOf("\n.fi"))
                        .lines()
                        .map(line -> line.replaceAll("\\\\(.)", "$1"))
                        .filter(line -> line.length() > 73)
                        .forEach(line -> wide.add(page.getFileName() + ": " + line));
            }
        }
        assertThat(wide).as("lines of a synopsis beyond 80 columns").isEmpty();
    }

    private static Stream<String> lines(Path page) {
        try {
            return Files.readAllLines(page).stream();
        } catch (IOException e) {
            throw new IllegalStateException("can't read " + page, e);
        }
    }

    private static void collect(CommandSpec command, List<CommandSpec> all) {
        all.add(command);
        command.subcommands().values().forEach(child -> collect(child.getCommandSpec(), all));
    }
}
