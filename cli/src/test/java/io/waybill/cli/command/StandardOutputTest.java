package io.waybill.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.cli.Commands;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

/** Output that can't be written, for every command of the table. {@code LostOutputIT} lets the commands do their work, too. */
@Timeout(60)
class StandardOutputTest {

    private static final Path FULL = Path.of("/dev/full");

    @TempDir
    Path directory;

    private final StringWriter errors = new StringWriter();
    private final PrintWriter err = new PrintWriter(errors);

    private static Surroundings surroundings(PrintWriter out, PrintWriter err, Path directory) {
        return new Surroundings(
                out,
                err,
                Surroundings.Watcher.PROGRAM,
                directory.resolve("home"),
                Optional.empty(),
                directory,
                "17",
                Map.of());
    }

    /** Returns every command, with its subcommands, as words. */
    static Stream<List<String>> commands() {
        PrintWriter none = new PrintWriter(new StringWriter());
        List<List<String>> all = new ArrayList<>();
        add(Commands.line(surroundings(none, none, Path.of("/nowhere")), "--help"), List.of(), all);
        assertThat(all).hasSizeGreaterThan(40);
        return all.stream();
    }

    private static void add(CommandLine line, List<String> words, List<List<String>> all) {
        all.add(words);
        line.getSubcommands().forEach((name, subcommand) -> {
            List<String> longer = new ArrayList<>(words);
            longer.add(name);
            add(subcommand, longer, all);
        });
    }

    @ParameterizedTest
    @MethodSource("commands")
    void everyCommandReportsThatItsOutputIsLost(List<String> words) throws IOException {
        List<String> args = new ArrayList<>(words);
        args.add("--help");
        try (OutputStream full = new FileOutputStream(FULL.toFile())) {
            PrintWriter out = StandardOutput.of(full, FULL, err);
            int code = Commands.run(surroundings(out, err, directory), args.toArray(String[]::new));
            assertThat(code).isEqualTo(StandardOutput.FAILED);
        }
        assertThat(errors.toString().lines())
                .singleElement()
                .asString()
                .startsWith("waybill: standard output: expected to write it, found 'No space left on device'");
    }

    @Test
    void distinguishesAClosedPipeFromAFullDisk() throws Exception {
        Path fifo = directory.resolve("fifo");
        assertThat(new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor())
                .isZero();
        PrintWriter out = StandardOutput.of(new Closed(), fifo, err);
        assertThat(Commands.run(surroundings(out, err, directory), "--version")).isEqualTo(StandardOutput.CLOSED);
        assertThat(errors.toString())
                .isEqualTo("waybill: standard output was closed by its reader; the rest of it is lost\n");
    }

    /** A stream as of a pipe without a reader. */
    private static final class Closed extends OutputStream {
        @Override
        public void write(int one) throws IOException {
            throw new IOException("Broken pipe");
        }
    }

    @Test
    void endsWhatOnlyPrintsAndKeepsAnotherExitCode() {
        PrintWriter out = StandardOutput.of(new Closed(), FULL, err);
        out.println("one");
        assertThatThrownBy(() -> StandardOutput.requireOpen(out)).isInstanceOf(StandardOutput.EndedException.class);
        assertThat(Commands.run(surroundings(out, err, directory), "workers")).isEqualTo(ErrorLines.FAILED);
    }

    @Test
    void writesAllOfItAsUtf8() throws IOException {
        Path file = directory.resolve("out");
        try (OutputStream stream = Files.newOutputStream(file)) {
            PrintWriter out = StandardOutput.of(stream, file, err);
            out.println("übung");
            assertThat(StandardOutput.exitCode(out)).isZero();
        }
        assertThat(Files.readAllBytes(file)).isEqualTo("übung\n".getBytes(StandardCharsets.UTF_8));
        assertThat(errors.toString()).isEmpty();
    }
}
