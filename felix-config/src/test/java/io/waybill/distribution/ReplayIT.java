package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.distribution.Command.Result;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls of a node of the assembled distribution, recorded and replayed by its command, from a home that may only be read. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReplayIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path COMMAND = DISTRIBUTION.resolve("bin/waybill");
    private static final int TEXTS = 20;
    private static final int OPERATORS = 5;
    private static final int COMMANDS = 2;
    private static final int CALLS = TEXTS + 2 * OPERATORS + COMMANDS;
    private static final int WRONG = 7;
    private static final String COUNT_WRONGLY = """
            try {
                int words = new java.util.StringTokenizer(message.text("text")).countTokens();
                outbox.response().int64("words", words == 7 ? 8 : words);
            } catch (RejectedMessageException e) {
                throw new IllegalStateException(e);
            }
            """;

    private final Map<String, String> environment = new HashMap<>();
    private final Map<Integer, String> ids = new HashMap<>(); // of the calls of text.count, by the number of words
    private Path directory;
    private Path home;
    private Path candidate;

    @BeforeAll
    void record(@TempDir Path given) throws IOException, InterruptedException {
        directory = given;
        home = directory.resolve("home");
        Path user = Files.createDirectory(directory.resolve("user"));
        environment.putAll(Command.environment(user));
        environment.put("PATH", COMMAND.getParent() + ":/usr/bin:/bin");
        environment.put("WAYBILL_HOME", home.toString());
        candidate = new BundleMaker(Files.createDirectory(directory.resolve("jars")), DISTRIBUTION.resolve("lib"))
                .bundle("org.acme.word-count", "text.count")
                .version("1.1.0")
                .body(COUNT_WRONGLY)
                .build();
        try (Command node =
                Command.start(directory, environment, List.of(COMMAND.toString(), "node", "--name", "ps0"))) {
            awaitReady(node);
            install();
            call();
            callWithLargeTensors();
            node.process.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
        permitWriting(false);
    }

    @AfterAll
    void permitRemoving() throws IOException {
        permitWriting(true);
    }

    private static void awaitReady(Command node) throws IOException {
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!node.out().startsWith("ready ps0 id=")) {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            assertThat(System.nanoTime()).as("ready in time: %s", node.err()).isLessThan(untilNs);
            LockSupport.parkNanos(20_000_000);
        }
    }

    private void install() throws IOException, InterruptedException {
        Result installed =
                waybill("bundle", "install", "--node", "ps0", wordCount().toString());
        assertThat(installed.exitCode()).as(installed.err()).isZero();
    }

    /** The bundle that responded to the calls. */
    private static Path wordCount() throws IOException {
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(DISTRIBUTION.resolve("examples"), "word-count-*.jar")) {
            return jars.iterator().next();
        }
    }

    private void call() throws IOException {
        Host host = Host.real();
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        try (Worker app =
                Worker.join(Home.open(home, host), "app", JoinOptions.defaults(), WorkerSettings.defaults(), none)) {
            app.ready(Map.of());
            for (int words = 0; words < TEXTS; words++) {
                Request request = Request.operation("ps0", "text.count");
                request.body().text("text", "word ".repeat(words));
                try (Response response = app.call(request)) {
                    assertThat(response.int64("words")).isEqualTo(words);
                    ids.put(words, io.waybill.api.MessageId.text(response.id()));
                }
            }
            for (int i = 0; i < OPERATORS; i++) {
                Invocation full = new Invocation("aten::full", List.of(Value.ints(2, 3), Value.of(i + 0.5)), Map.of());
                try (Response tensor = app.call(Request.invocation("ps0", MessageType.SCRIPT_CALL, full))) {
                    Invocation add = new Invocation("aten::add", List.of(tensor.value(), tensor.value()), Map.of());
                    app.call(Request.invocation("ps0", MessageType.SCRIPT_CALL, add))
                            .close();
                }
            }
        }
    }

    /** As the first calls of a new user: arrays of 4 MB as arguments and results, with the settings as they are shipped. */
    private void callWithLargeTensors() throws IOException, InterruptedException {
        Result full = waybill("call", "--to", "ps0", "aten::full", "[1000,1000]", "0.25", "--out", "a.npy");
        assertThat(full.exitCode()).as(full.err()).isZero();
        Result product = waybill("call", "--to", "ps0", "aten::mm", "a.npy", "a.npy", "--out", "c.npy");
        assertThat(product.exitCode()).as(product.err()).isZero();
    }

    private void permitWriting(boolean permitted) throws IOException {
        try (Stream<Path> all = Files.walk(home)) {
            for (Path each : all.filter(path -> !Files.isSymbolicLink(path)).toList()) {
                Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(each);
                if (permitted) {
                    permissions.add(PosixFilePermission.OWNER_WRITE);
                } else {
                    permissions.remove(PosixFilePermission.OWNER_WRITE);
                }
                Files.setPosixFilePermissions(each, permissions);
            }
        }
    }

    private Result waybill(String... args) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(args));
        words.add(0, COMMAND.toString());
        return Command.run(directory, environment, words.toArray(String[]::new));
    }

    /** What can be seen of the home without reading: names, sizes, times of change. */
    private Map<Path, String> files() throws IOException {
        Map<Path, String> files = new TreeMap<>();
        try (Stream<Path> all = Files.walk(home)) {
            for (Path each : all.toList()) {
                files.put(
                        each,
                        Files.readAttributes(each, "unix:ctime,size,ino", LinkOption.NOFOLLOW_LINKS)
                                .toString());
            }
        }
        return files;
    }

    @Test
    void findsAllTheSameAndWritesNothing() throws IOException, InterruptedException {
        Map<Path, String> before = files();
        Result replayed = waybill("replay");
        assertThat(replayed.exitCode()).as(replayed.out() + replayed.err()).isZero();
        int calls = CALLS;
        assertThat(replayed.out())
                .contains("All " + calls + " calls gave the response on record.", "ps0", "text.count", "aten::add")
                .containsPattern("ps0 +text.count +installed +" + TEXTS + " +0 +0 +0");
        assertThat(replayed.err()).contains(calls + " calls replayed in ");
        assertThat(waybill("replay").out()).isEqualTo(replayed.out());
        assertThat(files()).isEqualTo(before);
        assertThat(directory.resolve("user")).isEmptyDirectory();
    }

    @Test
    void namesTheOneCallWithAWrongResponseOfACandidate() throws IOException, InterruptedException {
        Path lines = directory.resolve("not-same.jsonl");
        Result replayed =
                waybill("replay", "--to", "ps0", "--bundle", candidate.toString(), "--report", lines.toString());
        assertThat(replayed.exitCode()).as(replayed.err()).isEqualTo(1);
        String id = ids.get(WRONG);
        assertThat(replayed.out())
                .contains(
                        "1 of " + CALLS + " calls did not give the response on record.",
                        "1. Call " + id + " from app to ps0: text.count(text='word word",
                        "different: reply.words: recorded 7, replayed 8")
                .doesNotContain("2. Call");
        assertThat(lines).content().hasLineCount(1).contains("\"id\":\"" + id + "\"");
        assertRunsAgain(replayed.out(), id);
    }

    /** The command that the report shows is typed into a shell. */
    private void assertRunsAgain(String report, String id) throws IOException, InterruptedException {
        String line = report.lines()
                .filter(each -> each.contains("waybill replay"))
                .findFirst()
                .orElseThrow()
                .replaceFirst(".*once more +", "");
        Result again = Command.run(directory, environment, "bash", "-c", line + " --times 3");
        assertThat(again.exitCode()).as(again.err()).isEqualTo(1);
        assertThat(again.out())
                .contains("3 of 3 calls did not give the response on record.", "1. Call " + id, "3. Call " + id);
    }

    @Test
    void showsCandidatesSideBySide() throws IOException, InterruptedException {
        Path good = wordCount();
        Result replayed = waybill(
                "replay",
                "--operation",
                "text.count",
                "--bundle",
                good.toString(),
                "--bundle",
                candidate.toString(),
                "--json");
        assertThat(replayed.exitCode()).as(replayed.err()).isEqualTo(1);
        assertThat(replayed.out())
                .contains("\"not_same_calls\" : 1", "\"handlers\" : \"" + good.getFileName() + "\"")
                .contains("\"id\" : \"" + ids.get(WRONG) + "\"");
    }

    @Test
    void replaysASliceWhereThereIsNoHome() throws IOException, InterruptedException {
        Path slice = directory.resolve("all.slice");
        Result sliced = waybill("journal", "slice", "--out", slice.toString());
        assertThat(sliced.exitCode()).as(sliced.err()).isZero();
        Map<String, String> elsewhere = new HashMap<>(environment);
        elsewhere.remove("WAYBILL_HOME");
        Result replayed = Command.run(
                Files.createDirectory(directory.resolve("elsewhere")),
                elsewhere,
                COMMAND.toString(),
                "replay",
                "--slice",
                slice.toString(),
                "--bundle",
                wordCount().toString());
        assertThat(replayed.exitCode()).as(replayed.out() + replayed.err()).isZero();
        String ofHome = waybill("replay", "--bundle", wordCount().toString()).out();
        assertThat(replayed.out()).isEqualTo(ofHome.replace("calls in " + home, "calls in " + slice));
    }

    @Test
    void refusesWhatIsWrittenWrongly() throws IOException, InterruptedException {
        assertThat(waybill("replay", "--compare", "roughly").exitCode()).isEqualTo(2);
        assertThat(waybill("replay", "--rtol", "1").exitCode()).isEqualTo(2);
        assertThat(waybill("replay", "--slice", "none.slice").err()).startsWith("waybill replay: no slice at ");
        Result nothing = waybill("replay", "--operation", "text.none");
        assertThat(nothing.exitCode()).isEqualTo(1);
        assertThat(nothing.out()).contains("Nothing was replayed: no call on record is selected.");
    }
}
