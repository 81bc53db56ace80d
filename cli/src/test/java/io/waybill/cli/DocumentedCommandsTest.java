package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.cli.bench.BenchTable;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.node.NodeSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The book names every command, and has the table of settings. */
@Timeout(60)
class DocumentedCommandsTest {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    @Test
    void hasAChapterForEachCommand() throws IOException {
        List<String> chapters = lines("docs/reference/commands.md")
                .filter(line -> line.startsWith("## waybill "))
                .map(line -> line.substring("## waybill ".length()))
                .toList();
        Surroundings surroundings = new Surroundings(
                new PrintWriter(new StringWriter()),
                new PrintWriter(new StringWriter()),
                Surroundings.Watcher.PROGRAM,
                ROOT,
                Optional.empty(),
                ROOT,
                "17",
                Map.of());
        Set<String> commands = Commands.line(surroundings).getSubcommands().keySet();
        assertThat(chapters).containsExactlyInAnyOrderElementsOf(commands);
    }

    @Test
    void showsTheTablesOfMeasurementsInTheBook() throws IOException {
        assertThat(Files.readString(ROOT.resolve("docs/reference/commands.md")))
                .as("copy the tables from cli/src/main/resources/io/waybill/cli/bench/benches.table")
                .contains(BenchTable.TABLE.text());
    }

    @Test
    void showsTheTableOfSettingsInTheBook() throws IOException {
        assertThat(Files.readString(ROOT.resolve("docs/operating/configuration.md")))
                .as("copy the rows from cli/src/main/resources/io/waybill/cli/node/settings.table")
                .contains("| key | default | meaning |\n|---|---|---|\n" + NodeSettings.TABLE.text() + "\n");
    }

    @Test
    void showsTheSameDefaultsInTheFileAsInTheTable() throws IOException {
        assertThat(matching("felix-config/src/main/conf/waybill.properties", "#([a-z]+\\.[a-z-]+) = (\\S+)"))
                .containsExactlyInAnyOrderElementsOf(
                        matching(NodeSettings.TABLE.text().lines(), "\\| `([a-z]+\\.[a-z-]+)` \\| `([^`]+)` \\|.*"));
    }

    @Test
    void readsNoOtherSettingsThanThoseOfTheTable() {
        List<String> documented =
                matching(NodeSettings.TABLE.text().lines(), "\\| `([a-z]+\\.[a-z-]+)` \\| (`)[^`]+` \\|.*").stream()
                        .map(line -> line.replaceAll("=.*", ""))
                        .toList();
        assertThat(areas().flatMap(DocumentedCommandsTest::settings)).containsExactlyInAnyOrderElementsOf(documented);
    }

    /** Returns what settings begin with, as the error for a wrong one says. */
    private static Stream<String> areas() {
        String error =
                catchThrowable(() -> NodeSettings.of(Map.of("none", "1"))).getMessage();
        return Stream.of(error.replaceAll(".*settings begin with ", "").split(", "));
    }

    private static Stream<String> settings(String area) {
        String error = catchThrowable(() -> NodeSettings.of(Map.of(area + "none", "1")))
                .getMessage();
        return Stream.of(error.replaceAll(".*there are ", "").split(", "));
    }

    private static List<String> matching(String file, String form) throws IOException {
        return matching(lines(file), form);
    }

    private static List<String> matching(Stream<String> lines, String form) {
        Pattern pattern = Pattern.compile(form);
        return lines.map(pattern::matcher)
                .filter(Matcher::matches)
                .map(line -> line.group(1) + "=" + line.group(2))
                .toList();
    }

    private static Stream<String> lines(String file) throws IOException {
        return Files.readAllLines(ROOT.resolve(file)).stream();
    }
}
