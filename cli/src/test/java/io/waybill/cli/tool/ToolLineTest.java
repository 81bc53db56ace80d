package io.waybill.cli.tool;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import io.waybill.cli.Commands;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.tool.ToolCommands;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands of a real worker, as a user runs them. */
@Timeout(120)
class ToolLineTest {

    private static final Provider ACME = new Provider("org.acme.greet", "1.2.0");

    /** Greets, or does what its words say. */
    private static final class Greet implements ToolCommand {

        private final CountDownLatch ended = new CountDownLatch(1);

        @Override
        public ToolDescription description() {
            return ToolDescription.of("greet", "Greets.")
                    .help("Says what it is told to.")
                    .option("--as", "WORD", "The word to greet with.")
                    .flag("--for-ever", "Repeats it.")
                    .arguments("NAME", 0, 9)
                    .limit(Duration.ZERO);
        }

        @Override
        public void run(ToolRun run) throws ToolFailedException {
            String word = run.option("--as").orElse("hello");
            if (word.equals("none")) {
                throw new ToolFailedException(5, "no word\nto greet with");
            }
            try {
                do {
                    if (run.isJson()) {
                        run.json(Value.list(Value.of(word)));
                    }
                    run.line(word + "\u001b[2J " + String.join(" ", run.arguments()));
                } while (run.isSet("--for-ever") && run.pause(Duration.ofMillis(1)));
            } finally { // a line of a run that was ended throws
                ended.countDown();
            }
        }
    }

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final Greet greet = new Greet();
    private Worker worker;
    private ToolCommands commands;

    @BeforeEach
    void join() throws IOException {
        Host host = Host.real();
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Home home = Home.open(directory.resolve("home"), host);
        worker = Worker.join(home, "ps0", JoinOptions.defaults(), WorkerSettings.defaults(), registry);
        commands = new ToolCommands(registry, host);
        commands.add(ACME, greet);
        worker.ready(Map.of());
    }

    @AfterEach
    void leave() throws IOException {
        commands.close();
        worker.close();
    }

    private int run(String... args) {
        return run(new PrintWriter(out), args);
    }

    private int run(PrintWriter to, String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        Surroundings surroundings = new Surroundings(
                to,
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                directory.resolve("home"),
                Optional.empty(),
                directory,
                "17",
                Map.of());
        return Commands.run(surroundings, args);
    }

    @Test
    void knowsWhichNamesAreBuiltIn() {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                directory,
                Optional.empty(),
                directory,
                "17",
                Map.of());
        assertThat(Commands.line(surroundings).getSubcommands().keySet())
                .as("ToolCommands.BUILT_IN names the commands of waybill, which no bundle may take")
                .containsExactlyInAnyOrderElementsOf(ToolCommands.BUILT_IN);
    }

    @Test
    void runsACommandOfABundle() {
        assertThat(run("greet", "--node", "ps0", "you", "-3", "--as=hi", "--", "--json"))
                .isZero();
        assertThat(out.toString()).isEqualTo("hi\\u001b[2J you -3 --json\n");
        assertThat(err.toString()).isEmpty();
        assertThat(run("greet", "--json", "--node=ps0")).isZero();
        assertThat(out.toString()).isEqualTo("[\"hello\"]\n");
        assertThat(err.toString()).isEqualTo("hello\\u001b[2J \n");
    }

    @Test
    void endsWithTheErrorAndTheExitCodeOfTheCommand() {
        assertThat(run("greet", "--node", "ps0", "--as", "none")).isEqualTo(5);
        assertThat(err.toString()).isEqualTo("waybill greet: no word; to greet with\n");
        assertThat(out.toString()).isEmpty();
        assertThat(run("greet", "--node", "ps0", "--ass", "none")).isEqualTo(2);
        assertThat(err.toString())
                .isEqualTo(
                        "waybill greet: unknown option --ass; there are --as, --for-ever; see waybill greet --help\n");
    }

    @Test
    void saysWhatIsThere() {
        assertThat(run("help", "--node", "ps0")).isZero();
        assertThat(out.toString())
                .isEqualTo(
                        "COMMAND  BUNDLE          VERSION  DESCRIPTION\ngreet    org.acme.greet  1.2.0    Greets.\n");
        assertThat(run("help", "--node", "ps0", "--json")).isZero();
        assertThat(out.toString()).contains("\"name\" : \"greet\"").contains("\"failed\" : 0");
        assertThat(run("greet", "--node", "ps0", "--help")).isZero();
        assertThat(out.toString())
                .contains("Usage: waybill greet --node NAME [--home DIR] [--json] [--as WORD] [--for-ever] [NAME...]")
                .contains("Greets.\n\nSays what it is told to.\n")
                .contains("--as WORD")
                .contains("org.acme.greet 1.2.0 in node ps0; runs until it is ended.");
        assertThat(run("help")).isZero();
        assertThat(out.toString())
                .contains("Usage: waybill")
                .contains("workers")
                .contains("prepare");
    }

    @Test
    void saysWhatIsThereWhenACommandIsUnknown() {
        assertThat(run("geet", "--node", "ps0")).isEqualTo(2);
        assertThat(err.toString())
                .startsWith("waybill geet: the node has no command geet; its bundles offer greet")
                .hasLineCount(1);
        assertThat(run("geet", "--help", "--node", "ps0")).isEqualTo(2);
        assertThat(err.toString()).contains("its bundles offer greet");
        assertThat(run("greet")).isEqualTo(2);
        assertThat(err.toString()).contains("'greet'").contains("a command of a bundle needs --node NAME");
        assertThat(run("greet", "--node", "ps9")).isEqualTo(1);
        assertThat(err.toString()).contains("ps9").contains("waybill workers");
    }

    @Test
    void endsTheRunWhenItsOutputIsClosed() throws Exception {
        PrintWriter closed = new PrintWriter(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        });
        assertThat(run(closed, "greet", "--node", "ps0", "--for-ever")).isEqualTo(StandardOutput.FAILED);
        greet.ended.await();
    }
}
