package io.waybill.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command on this machine. */
@Timeout(120)
class DoctorCommandTest {

    private static final List<String> CHECKS = List.of(
            "java",
            "java flags",
            "native calls",
            "kernel",
            "processors",
            "memory",
            "open files",
            "memory maps",
            "locked memory",
            "clock",
            "time namespace",
            "home",
            "distribution",
            "nvidia driver");

    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();

    private int run(String java, String... args) {
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(new StringWriter()),
                        Surroundings.Watcher.PROGRAM,
                        directory.resolve("home"),
                        Optional.empty(),
                        directory,
                        java,
                        Map.of()),
                args);
    }

    @Test
    void saysOfEachThingWhatItFoundAndMakesNothing() throws IOException {
        assertThat(run("17.0.15 in /opt/java", "doctor")).isZero();
        for (String check : CHECKS) {
            assertThat(out.toString()).containsPattern("(?m)^(ok|note|warning) +" + check + "  ");
        }
        assertThat(out.toString()).contains("Nothing that Waybill needs is missing; warnings: ");
        try (Stream<Path> made = Files.list(directory)) {
            assertThat(made).isEmpty();
        }
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain("libtorch", "libcuda");
    }

    @Test
    void exitsWithOneWhenSomethingIsMissing() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "no directory");
        assertThat(run("17.0.15", "doctor", "--home", file.toString())).isEqualTo(1);
        assertThat(out.toString())
                .contains("missing  home")
                .contains(file + " is no directory; take a directory of your own")
                .contains("Missing: 1; warnings: ");
    }

    @Test
    void namesTheJavaThatItNeeds() {
        assertThat(run("11.0.2 in /opt/java", "doctor")).isEqualTo(1);
        assertThat(out.toString()).containsPattern("missing +java +11.0.2 in /opt/java; install a JDK from 17 to 25");
        out.getBuffer().setLength(0);
        assertThat(run("25", "doctor")).isZero();
        assertThat(out.toString()).containsPattern("(?m)^ok +java +25$");
    }

    @Test
    void printsTheSameAsJson() throws IOException {
        assertThat(run("17.0.15", "doctor", "--json")).isZero();
        StringBuilder checks = new StringBuilder();
        try (JsonParser parser = new JsonFactory().createParser(out.toString())) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token == JsonToken.VALUE_STRING && parser.currentName().equals("check")) {
                    checks.append(parser.getText()).append('\n');
                }
            }
        }
        assertThat(checks.toString().lines()).containsAll(CHECKS);
        assertThat(out.toString()).contains("\"missing\" : 0", "\"verdict\" : \"ok\"", "\"advice\" : \"JDK 25");
    }
}
