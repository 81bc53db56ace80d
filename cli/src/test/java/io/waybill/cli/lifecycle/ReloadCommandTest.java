package io.waybill.cli.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A running node whose files change. */
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class ReloadCommandTest {

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Path file;
    private Home home;
    private Node node;

    @BeforeEach
    void start() throws IOException {
        Files.createDirectories(directory.resolve("bundles"));
        file = Files.createDirectories(directory.resolve("conf")).resolve("waybill.properties");
        home = Home.open(directory.resolve("home"), Host.real());
        node = Node.start(
                home,
                "node",
                JoinOptions.defaults(),
                directory,
                NodeConf.read(file.getParent()),
                Optional.of(directory.resolve("watched")));
    }

    @AfterEach
    void close() throws IOException {
        node.close();
    }

    private int reload(String... options) {
        String[] words = new String[options.length + 2];
        words[0] = "reload";
        words[1] = "node";
        System.arraycopy(options, 0, words, 2, options.length);
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        home.path(),
                        Optional.empty(),
                        directory,
                        "17",
                        Map.of()),
                words);
    }

    @Test
    void appliesWhatCanChangeAndNamesWhatNeedsARestart() throws IOException {
        assertThat(reload()).as(err.toString()).isZero();
        assertThat(out.toString()).isEqualTo("No setting of node is different.\n");
        Files.writeString(file, "parking.max-messages = 7\njournal.durability = each\n");
        assertThat(reload()).as(err.toString()).isZero();
        assertThat(out.toString())
                .containsPattern("journal.durability +process +each +needs a restart: waybill restart node\n")
                .containsPattern("parking.max-messages +100000 +7 +applied\n");
        assertThat(node.handlers().parking().maxMessages()).isEqualTo(7);
        out.getBuffer().setLength(0);
        assertThat(reload("--json")).isZero();
        assertThat(out.toString())
                .contains("\"setting\" : \"journal.durability\"", "\"applied\" : false")
                .doesNotContain("parking");
    }

    @Test
    void saysAllThatIsWrongAndChangesNothing() throws IOException {
        Files.writeString(file, "parking.max-messages = 7\nretention.max-cycles = some\nno.such = 1\n");
        assertThat(reload()).isEqualTo(1);
        assertThat(err.toString())
                .contains("nothing was changed: " + file, "retention.max-cycles", "no.such")
                .hasLineCount(1);
        assertThat(node.handlers().parking().maxMessages()).isEqualTo(100_000);
    }
}
