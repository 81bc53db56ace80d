package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cli.command.Surroundings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The completion script offers names of the home. Run by bash, as at a press of the tabulator. */
@Timeout(150)
class CompletionTest {

    private static final String PRESS =
            "compopt() { :; }; source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_LINE=\"$*\";"
                    + " _waybill_complete; printf '%s\\n' \"${COMPREPLY[@]}\"";

    @TempDir
    Path directory;

    private Path home;
    private Path script;
    private Worker server;

    @BeforeEach
    void joinAHome() throws IOException {
        home = directory.resolve("home");
        server = Waybill.connect(home, "ps0")
                .with("text.count", (message, outbox) -> outbox.response())
                .with("text.trim", (message, outbox) -> outbox.response())
                .with("py.*", (message, outbox) -> outbox.response())
                .join();
        Path record = server.directory().path().resolve("worker.json");
        Waits.until("all is published", () -> Files.readString(record).contains("text.trim"));
        Waybill.connect(home, "trainer-7").join().close(); // it has left
        Path installed = Files.createDirectories(server.directory().path().resolve("osgi/installed"));
        Files.createFile(installed.resolve("org.acme.orders.jar"));
        StringWriter out = new StringWriter();
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(new StringWriter()),
                Surroundings.Watcher.PROGRAM,
                home,
                Optional.empty(),
                directory,
                "17",
                Map.of());
        assertThat(Commands.run(surroundings, "completion")).isZero();
        script = Files.writeString(directory.resolve("completion"), out.toString());
    }

    @AfterEach
    void leave() throws IOException {
        server.close();
    }

    private List<String> offered(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", "-c", PRESS, "bash", script.toString()));
        command.addAll(List.of(words));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).directory(directory.toFile());
        builder.environment().put("WAYBILL_HOME", home.toString());
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
    }

    @Test
    void offersWorkers() throws Exception {
        assertThat(offered("waybill", "call", "--to", "")).containsExactly("ps0");
        assertThat(offered("waybill", "call", "--to", "=", "p")).containsExactly("ps0");
        assertThat(offered("waybill", "stop", "")).containsExactly("ps0");
        assertThat(offered("waybill", "reload", "")).containsExactly("ps0");
        assertThat(offered("waybill", "workers", "remove", "t")).containsExactly("trainer-7");
        assertThat(offered("waybill", "bundle", "list", "--node", "")).containsExactly("ps0");
        assertThat(offered("waybill", "journal", "list", "--from", "t")).containsExactly("trainer-7");
    }

    @Test
    void offersTheOperationsOfTheCallee() throws Exception {
        assertThat(offered("waybill", "call", "--to", "ps0", "")).containsExactlyInAnyOrder("text.count", "text.trim");
        assertThat(offered("waybill", "call", "--to", "ps0", "text.c")).containsExactly("text.count");
        assertThat(offered("waybill", "call", "--to", "trainer-7", "text.c")).isEmpty();
        assertThat(offered("waybill", "operations", "--worker", "")).containsExactly("ps0");
        assertThat(offered("waybill", "operations", "--worker", "ps0", "text.c"))
                .containsExactly("text.count");
    }

    @Test
    void offersInstalledBundles() throws Exception {
        assertThat(offered("waybill", "bundle", "stop", "--node", "ps0", "")).containsExactly("org.acme.orders");
        assertThat(offered("waybill", "bundle", "uninstall", "--node", "ps0", "org"))
                .containsExactly("org.acme.orders");
    }

    @Test
    void runsNothingThatANameSays() throws Exception {
        Path installed = server.directory().path().resolve("osgi/installed");
        Files.createFile(installed.resolve("$(touch planted).jar"));
        assertThat(offered("waybill", "bundle", "stop", "--node", "ps0", ""))
                .containsExactlyInAnyOrder("org.acme.orders", "$(touch planted)");
        assertThat(directory.resolve("planted")).doesNotExist();
    }

    @Test
    void offersCommandsAndOptionsAsBefore() throws Exception {
        assertThat(offered("waybill", "wor")).containsExactly("workers");
        assertThat(offered("waybill", "call", "--ti")).containsExactly("--timeout");
    }

    @Test
    void readsTheHomeOfTheLine() throws Exception {
        assertThat(offered(
                        "waybill", "call", "--home", directory.resolve("none").toString(), "--to", "p"))
                .isEmpty();
    }
}
