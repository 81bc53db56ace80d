package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

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

/** The book names every command, and every setting of a node with its default. */
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
    void namesEachSettingInTheBookAndInTheFile() throws IOException {
        List<String> settings = settings();
        List<String> inTheBook = rows().map(row -> row.group(1)).toList();
        List<String> inTheFile = commented().map(line -> line.group(1)).toList();
        assertThat(inTheBook).containsExactlyInAnyOrderElementsOf(settings);
        assertThat(inTheFile).containsExactlyInAnyOrderElementsOf(settings);
    }

    @Test
    void showsTheSameDefaultsInTheBookAndInTheFileAsTheCodeHas() throws IOException {
        List<String> inTheBook =
                rows().map(row -> row.group(1) + "=" + row.group(2)).toList();
        List<String> inTheFile =
                commented().map(line -> line.group(1) + "=" + line.group(2)).toList();
        assertThat(inTheBook).containsExactlyInAnyOrderElementsOf(inTheFile);
        for (String line : inTheFile) {
            Map<String, String> one = Map.of(line.replaceAll("=.*", ""), line.replaceAll(".*=", ""));
            assertThat(NodeSettings.of(one)).as(line).isEqualTo(NodeSettings.defaults());
        }
    }

    /** The keys that there are, as the error for one that is none lists them. */
    private static List<String> settings() {
        String text = catchThrowable(() -> NodeSettings.of(Map.of("none", "1"))).getMessage();
        return List.of(text.replaceAll(".*there are ", "").split(", "));
    }

    private static Stream<Matcher> rows() throws IOException {
        return matching("docs/operating/configuration.md", "\\| `([a-z]+\\.[a-z-]+)` \\| `([^`]+)` \\|.*");
    }

    private static Stream<Matcher> commented() throws IOException {
        return matching("felix-config/src/main/conf/waybill.properties", "#([a-z]+\\.[a-z-]+) = (\\S+)");
    }

    private static Stream<Matcher> matching(String file, String form) throws IOException {
        Pattern pattern = Pattern.compile(form);
        return lines(file).map(pattern::matcher).filter(Matcher::matches);
    }

    private static Stream<String> lines(String file) throws IOException {
        return Files.readAllLines(ROOT.resolve(file)).stream();
    }
}
