package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands that do their work, with standard output on a full disk and in a pipe that its reader closed. */
@Timeout(600)
class LostOutputIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final String FULL =
            "waybill: standard output: expected to write it, found 'No space left on device'; make room, and run what only prints again";
    private static final String CLOSED = "waybill: standard output was closed by its reader; the rest of it is lost";

    /** Redirects to a FIFO without a reader: Java gets the signal's error at the first write. */
    private static final String TO_CLOSED_PIPE = "F=$(mktemp -u fifo.XXXXXX); mkfifo $F; exec 4<> $F 3> $F 4<&-; ";

    @TempDir
    static Path directory;

    private static Map<String, String> environment;
    private static Command node;

    @BeforeAll
    static void callANode() throws Exception {
        environment = new HashMap<>(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        environment.put("W", DISTRIBUTION.resolve("bin/waybill").toString());
        environment.put(
                "JAR", DISTRIBUTION.resolve("examples/word-count-1.0.0.jar").toString());
        List<String> words =
                List.of(environment.get("W"), "node", "--name", "ps0", "--shipped", "none", "--waiting", "low-cpu");
        node = Command.start(directory, environment, words);
        Command.until("the node serves", () -> node.out().startsWith("ready "));
        shell("$W bundle install --node ps0 $JAR && $W call --to ps0 text.count text=one"
                        + " && $W journal slice --out $PWD/all.slice")
                .output();
    }

    @AfterAll
    static void stopTheNode() {
        node.close();
    }

    private static Result shell(String script) throws IOException, InterruptedException {
        return Command.run(directory, environment, "bash", "-c", script);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--version",
                "help",
                "completion",
                "call --to ps0 text.count text=two",
                "workers",
                "workers --json",
                "workers remove --all-departed --dry-run --force",
                "top --count 1 --interval 100ms",
                "rrefs --json",
                "bundle list --node ps0",
                "bundle list --node ps0 --handlers --json",
                "bundle update --node ps0 $JAR",
                "reload ps0",
                "doctor",
                "journal list",
                "journal list --json",
                "journal show 1.1",
                "journal tail",
                "journal tail -f",
                "journal stats",
                "journal trace 1.1 --out $(mktemp -u trace.XXXXXX.html)",
                "journal export --out $(mktemp -d export.XXXXXX)",
                "journal slice --out $(mktemp -u slice.XXXXXX)",
                "journal compare all.slice all.slice",
                "journal verify",
                "journal verify --slice all.slice --json",
                "journal salvage --out $(mktemp -d salvage.XXXXXX)",
                "replay --operation text.count --slice all.slice --bundle $JAR",
                "demo",
            })
    void reportsThatItsOutputIsLost(String command) throws Exception {
        Result full = shell("$W " + command + " > /dev/full");
        Result closed = shell(TO_CLOSED_PIPE + "$W " + command + " >&3");
        assertThat(full.err()).as("on a full disk").contains(FULL);
        assertThat(closed.err()).as("in a closed pipe").contains(CLOSED);
        assertThat(full.err().lines().filter(line -> line.startsWith("waybill")))
                .as("lines on a full disk")
                .hasSize(1);
        List<Integer> codes = List.of(full.exitCode(), closed.exitCode());
        // a diagnosis with a problem keeps its own code
        assertThat(codes).as(full.err()).isIn(List.of(74, 141), command.equals("doctor") ? List.of(1, 1) : List.of());
    }

    @Test
    void keepsANodeAndItsSupervisorServing() throws Exception {
        Files.writeString(
                directory.resolve("nodes.properties"),
                "nodes = a\nnode.a.shipped = none\nnode.a.conf = " + DISTRIBUTION.resolve("conf") + "\n");
        for (String command : new String[] {"node --name b --shipped none", "up --nodes nodes.properties"}) {
            String name = command.startsWith("up") ? "a" : "b";
            Result result = shell("$W " + command
                    + " > /dev/full 2> lost & N=$!; for i in $(seq 300); do $W workers 2> lost2 | grep ' " + name
                    + " .*alive' > state && break; sleep .2; done;"
                    + " kill $N; wait $N; echo code $?; cat lost >&2");
            assertThat(result.err()).as(command).contains(FULL);
            assertThat(result.out()).as(command).isEqualTo("code 74\n");
            assertThat(Files.readString(directory.resolve("state"))).as(command).isNotEmpty();
        }
    }

    @Test
    void endsAListWhoseReaderHasGone() throws Exception {
        Result result = shell("$W journal list --limit 0 | head -1; echo ${PIPESTATUS[0]}");
        assertThat(result.out()).startsWith("SENT ");
        assertThat(result.out().lines().skip(1)).containsAnyOf("141", "0"); // all of it may fit before head ends
    }

    @ParameterizedTest
    @ValueSource(strings = {"@/dev/stdin", "@-", "@<(printf abc)"})
    void sendsAPayloadFromAPipe(String payload) throws Exception {
        String word = payload.startsWith("@<") ? "@$P" : payload;
        String script = payload.startsWith("@<") ? "exec 5< <(printf abc); P=/dev/fd/5; " : "printf abc | ";
        Result result = shell(script + "$W call --to ps0 --type 0x142 --payload " + word + " --timeout 300ms");
        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        assertThat(result.err()).contains("USER_0X42_CALL not supported");
        String last = shell("$W journal list --type 0x142 --limit 1 --json").output();
        assertThat(last).contains("\"payload_bytes\":3");
    }
}
