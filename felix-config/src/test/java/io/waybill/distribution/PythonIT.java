package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Python functions in a node of the assembled distribution. Skipped without {@code /usr/bin/python3}. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class PythonIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path REPOSITORY = Path.of("..").toAbsolutePath().normalize();
    private static final long SUITE_LIMIT_S = 7_000;
    /** Runs the cells of a notebook, one after the other, as a script. */
    private static final String RUN_CELLS = String.join(
            "\n",
            "import json, sys",
            "notebook = json.load(open(sys.argv[1]))",
            "assert notebook['nbformat'] == 4",
            "assert all(not cell.get('outputs') for cell in notebook['cells']), 'expected cells without outputs'",
            "names = {'__name__': '__main__'}",
            "for cell in notebook['cells']:",
            "    if cell['cell_type'] == 'code':",
            "        exec(compile(''.join(cell['source']), cell['id'], 'exec'), names)");

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Command node;

    @BeforeEach
    void startNode() throws Exception {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        environment.put("PATH", DISTRIBUTION.resolve("bin") + ":" + environment.get("PATH"));
        environment.put("PYTHONPATH", DISTRIBUTION.resolve("share/python").toString());
        node = Command.start(
                directory,
                environment,
                List.of(
                        waybill(),
                        "node",
                        "--name",
                        "ps0",
                        "--conf",
                        settings(1).toString()));
        Command.until("the node is ready", () -> node.out().startsWith("ready ps0"));
    }

    @AfterEach
    void stopNode() {
        if (node != null) {
            node.close();
        }
    }

    private static String waybill() {
        return DISTRIBUTION.resolve("bin/waybill").toString();
    }

    /** Makes settings with which a pool imports a version of the module prices: the factor that its function has. */
    private Path settings(int version) throws IOException {
        Path modules = Files.createDirectory(directory.resolve("modules-" + version));
        Files.writeString(
                modules.resolve("prices.py"), "def total(*amounts):\n    return " + version + " * sum(amounts)\n");
        Path settings = Files.createDirectory(directory.resolve("conf-" + version));
        try (DirectoryStream<Path> files = Files.newDirectoryStream(DISTRIBUTION.resolve("conf"))) {
            for (Path file : files) {
                Files.copy(file, settings.resolve(file.getFileName()));
            }
        }
        Files.writeString(settings.resolve("io.waybill.python.cfg"), "path = " + modules + "\n");
        return settings;
    }

    private Result run(String... words) throws IOException, InterruptedException {
        return Command.run(directory, environment, words);
    }

    @Test
    void functionsAreCalledFromTheCommandLine() throws Exception {
        assertThat(run(waybill(), "call", "--to", "ps0", "statistics:mean", "[1,2,6]")
                        .output())
                .isEqualToIgnoringNewLines("3");
        assertThat(run(waybill(), "call", "--to", "ps0", "textwrap:shorten", "'to be or not'", "width:=9")
                        .output())
                .isEqualToIgnoringNewLines("'to [...]'");

        Result failed = run(waybill(), "call", "--to", "ps0", "statistics:mean", "[]");
        assertThat(failed.exitCode()).isEqualTo(1);
        assertThat(failed.err().lines())
                .as("an error with its code, and a traceback from the function on")
                .hasSizeGreaterThan(3)
                .startsWith(
                        "waybill call: Error on ps0: StatisticsError: mean requires at least one data point; its record: waybill"
                                + " journal show 1.2 [HANDLER_FAILED]",
                        "Traceback (most recent call last):")
                .endsWith("statistics.StatisticsError: mean requires at least one data point")
                .noneMatch(line -> line.contains("waybill/worker.py"));

        Result refused = run(waybill(), "call", "--to", "ps0", "builtins:eval", "'1+1'");
        assertThat(refused.exitCode()).isEqualTo(1);
        assertThat(refused.err()).contains("makes code", "[REFUSED]");
    }

    @Test
    void describedOperationsAreFunctionsOfAModule() throws Exception {
        String bundle = DISTRIBUTION.resolve("examples/word-count-1.0.0.jar").toString();
        assertThat(run(waybill(), "bundle", "install", "--node", "ps0", bundle).exitCode())
                .isZero();
        Result module = run(waybill(), "operations", "--worker", "ps0", "--python");
        assertThat(module.exitCode()).as(module.err()).isZero();
        Files.writeString(directory.resolve("ps0_operations.py"), module.out());

        String program = "from ps0_operations import text_count; print(text_count(text='to be or not to be'))";
        assertThat(run(PYTHON.toString(), "-B", "-c", program)).isEqualTo(new Result(0, "{'words': 6}\n", ""));
    }

    @Test
    void aProgramStartsItsGatewayInAHomeThatIsNotThere() throws Exception {
        Path home = directory.resolve("g/h"); // a path of a socket has 106 bytes at most
        environment.put("WAYBILL_HOME", home.toString());
        String program =
                "import waybill.rpc as rpc; rpc.init_rpc('alone'); print(rpc.get_worker_info().name); rpc.shutdown()";
        try {
            assertThat(run(PYTHON.toString(), "-c", program)).isEqualTo(new Result(0, "alone\n", ""));
            Path log = home.resolveSibling("h.python-gateway.log");
            Command.until("ready in " + log, () -> Files.readString(log).contains("ready python-gateway id="));
            assertThat(log).content().startsWith("waybill ");
        } finally {
            assertThat(run(waybill(), "stop", "python-gateway").output()).startsWith("stopped python-gateway ");
        }
    }

    @Test
    void recordedCallsRunAgainInAPoolOfAnotherVersion() throws Exception {
        String[] replay = {waybill(), "replay", "--to", "ps0", "--operation", "prices:total"};
        assertThat(run(waybill(), "call", "--to", "ps0", "prices:total", "2", "5")
                        .output())
                .isEqualToIgnoringNewLines("7");
        assertThat(run(replay).exitCode())
                .as("the settings of the distribution: no module")
                .isEqualTo(1);

        String same = directory.resolve("conf-1").toString();
        assertThat(run(with(replay, same)).output()).contains("All 1 calls gave the response on record.");

        Result other = run(with(replay, settings(2).toString()));
        assertThat(other.exitCode()).as(other.out()).isEqualTo(1);
        assertThat(other.out()).containsPattern("prices:total +installed +0 +1 +0 +0");
    }

    @Test
    void namesAndRanksOfAGroupChangeBetweenJobs() throws Exception {
        Path client = Path.of("src/test/python/jobs.py").toAbsolutePath();
        // the same names in another order, other names, and fewer of the first ones
        for (List<String> names :
                List.of(List.of("a", "b", "c"), List.of("c", "a", "b"), List.of("d", "e", "f"), List.of("b", "c"))) {
            List<Command> members = new ArrayList<>();
            try {
                for (int rank = 0; rank < names.size(); rank++) {
                    members.add(python(
                            client.toString(), names.get(rank), String.valueOf(rank), String.valueOf(names.size())));
                }
                String expected = IntStream.range(0, names.size())
                        .mapToObj(rank -> names.get(rank) + "=" + rank)
                        .collect(Collectors.joining(" "));
                for (Command member : members) {
                    assertThat(member.await(120)).isEqualTo(new Result(0, expected + "\n", ""));
                }
            } finally {
                members.forEach(Command::close);
            }
        }
    }

    @Test
    void callsThatAProgramServedRunAgain() throws Exception {
        Path program = Path.of("src/test/python/served.py").toAbsolutePath();
        try (Command server = python(program.toString(), "server");
                Command helper = python(program.toString(), "helper")) {
            for (Command each : List.of(server, helper)) {
                Command.until("it serves: " + each.err(), () -> each.out().startsWith("serving"));
            }
            assertThat(run(
                            PYTHON.toString(),
                            program.resolveSibling("calls_served.py").toString()))
                    .isEqualTo(new Result(0, "", ""));
        }
        Path conf = settings(3);
        Files.writeString(conf.resolve("io.waybill.python.cfg"), "interpreter = " + PYTHON + "\n");

        Result again =
                run(waybill(), "replay", "--to", "server", "--conf", conf.toString(), "--python", program.toString());

        assertThat(again.out()).contains("All 9 calls gave the response on record.");
        assertThat(again.exitCode()).as(again.out()).isZero();
    }

    private Command python(String... words) throws IOException {
        return Command.start(
                directory,
                environment,
                Stream.concat(Stream.of(PYTHON.toString(), "-B"), Stream.of(words))
                        .toList());
    }

    private static String[] with(String[] replay, String settings) {
        return Stream.concat(Stream.of(replay), Stream.of("--conf", settings)).toArray(String[]::new);
    }

    @Test
    void theNotebookOfTheBookRuns() throws Exception {
        Path notebook = REPOSITORY.resolve("docs/extending/python-notebook.ipynb");

        String said = run(PYTHON.toString(), "-B", "-c", RUN_CELLS, notebook.toString())
                .output();

        assertThat(said)
                .startsWith("notebook\n3\n[0.816, 1.414, 2.0]\nps0 [('to', 2)]\n")
                .contains(
                        "statistics.StatisticsError: StatisticsError: mean requires at least one data point\n",
                        "statistics:mean notebook -> ps0 ok\n",
                        "payload  statistics:mean(args=[[1, 2, 6]], kwargs={}, pickle=<",
                        "All 5 calls gave the response on record.");
    }

    /** {@code clients/python/tests/peer/kept.txt} says what is expected. With torch from elsewhere, {@code PYTHONPATH} and {@code LD_LIBRARY_PATH} name it. */
    @Test
    @Tag("slow")
    @Timeout(value = 2 * SUITE_LIMIT_S, unit = TimeUnit.SECONDS)
    void passesTheTestsOfPyTorchThatAreListedAsPassed() throws Exception {
        Path client = REPOSITORY.resolve("clients/python");
        String path = System.getenv("PYTHONPATH");
        environment.put("PYTHONPATH", path == null ? client.toString() : client + ":" + path);
        if (System.getenv("LD_LIBRARY_PATH") != null) {
            environment.put("LD_LIBRARY_PATH", System.getenv("LD_LIBRARY_PATH"));
        }
        assumeTrue(run(PYTHON.toString(), "-c", "import torch").exitCode() == 0, PYTHON + " has no torch");
        Path socket = Path.of(environment.get("WAYBILL_HOME"), "workers", "0-ps0", "python.sock");

        try (Command suite = Command.start(
                directory,
                environment,
                List.of(PYTHON.toString(), "-B", "-m", "tests.peer.run", "--socket", socket.toString()))) {
            Result done = suite.await(SUITE_LIMIT_S);
            assertThat(done.exitCode()).as(done.out() + done.err()).isZero();
        }
    }
}
