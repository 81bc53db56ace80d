package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The profiler, installed in three nodes of the assembled distribution: a nested call is one trace, and a command profiles what a node serves.
 * The nodes are started once; each test holds alone, and in this order, as what is profiled stays in the journals.
 */
@Tag("ci")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ProfilerIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final List<String> NODES = List.of("w0", "w1", "w2");
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Passes a call on to w2, which runs an operator. */
    private static final String HANDLER = """
            outbox.rpc().rpcSync("w2", new Invocation(
                    "aten::ones", java.util.List.of(Value.ints(2, 3)), java.util.Map.of())).close();
            outbox.respond(Value.of(1));
            """;

    /** A command that profiles a call of w1 and prints the trace, or profiles calls from {@code begin} to {@code end}. */
    private static final String ACTIVATOR = """
            c.registerService(io.waybill.api.tool.ToolCommand.class, new io.waybill.api.tool.ToolCommand() {
                private volatile boolean ends;
                private <S> S service(Class<S> type) {
                    return c.getService(c.getServiceReference(type));
                }
                @Override public io.waybill.api.tool.ToolDescription description() {
                    return io.waybill.api.tool.ToolDescription.of("traced", "A call.")
                            .arguments("begin|end", 0, 1).limit(java.time.Duration.ZERO);
                }
                @Override public void run(io.waybill.api.tool.ToolRun run) {
                    io.waybill.api.broker.Broker broker = service(io.waybill.api.broker.Broker.class);
                    io.waybill.profiler.Profiler profiler = service(io.waybill.profiler.Profiler.class);
                    ends = run.arguments().contains("end");
                    int done = 0;
                    while (run.arguments().contains("begin") && !ends) {
                        io.waybill.profiler.profile.Profile profile = profiler.profile(
                                io.waybill.profiler.profile.ProfilerConfig.cpu(),
                                () -> broker.caller().call(io.waybill.api.Request.operation("w1", "pass.on")).close());
                        if (!profile.events().get(0).outcome().name().equals("DONE")) {
                            throw new IllegalStateException(profile.events().toString());
                        }
                        if (done++ == 0) {
                            run.line("begun");
                        }
                    }
                    if (!run.arguments().isEmpty()) {
                        run.line(done + " done");
                        return;
                    }
                    profiler.profile(
                            io.waybill.profiler.profile.ProfilerConfig.cpu(),
                            () -> broker.caller().call(io.waybill.api.Request.operation("w1", "pass.on")).close())
                            .chromeTrace().lines().forEach(run::line);
                }
            }, null);
            """;

    private final Map<String, String> environment = new HashMap<>();
    private final List<Command> nodes = new ArrayList<>();
    private Path directory;

    @BeforeAll
    void startNodes(@TempDir Path given) throws Exception {
        directory = given;
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        for (String name : NODES) {
            Command node = begin("node", "--name", name);
            nodes.add(node);
            Command.until("ready " + name, () -> {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                return node.out().contains("ready " + name);
            });
            output("bundle", "install", "--node", name, profiler().toString());
        }
        String bundle = passOn().toString();
        output("bundle", "install", "--node", "w0", bundle);
        output("bundle", "install", "--node", "w1", bundle);
    }

    @AfterAll
    void stop() {
        nodes.forEach(Command::close);
    }

    private static Path profiler() throws IOException {
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(DISTRIBUTION.resolve("optional"), "profiler-*.jar")) {
            return jars.iterator().next();
        }
    }

    private Path passOn() throws IOException {
        Path libraries = Files.createDirectories(directory.resolve("libraries"));
        for (String from : List.of("lib", "optional")) {
            try (DirectoryStream<Path> jars = Files.newDirectoryStream(DISTRIBUTION.resolve(from), "*.jar")) {
                for (Path jar : jars) {
                    Files.createSymbolicLink(libraries.resolve(jar.getFileName()), jar.toAbsolutePath());
                }
            }
        }
        return new BundleMaker(directory, libraries)
                .bundle("org.acme.pass", "pass.on")
                .body(HANDLER)
                .start(ACTIVATOR)
                .header(
                        "Import-Package",
                        "io.waybill.api,io.waybill.api.handler,io.waybill.api.broker,io.waybill.api.tool,"
                                + "io.waybill.profiler,io.waybill.profiler.profile,org.osgi.framework")
                .build();
    }

    private Command begin(String... words) throws IOException {
        List<String> all = new ArrayList<>(List.of(words));
        all.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        return Command.start(directory, environment, all);
    }

    private Result waybill(String... words) throws Exception {
        try (Command command = begin(words)) {
            return command.await(300);
        }
    }

    /** Runs a command that must succeed, and returns its output. */
    private String output(String... words) throws Exception {
        return waybill(words).output();
    }

    /** The complete events of a trace, without the stages before handlers, which it has. */
    private static List<JsonNode> events(String trace) throws IOException {
        List<JsonNode> events = new ArrayList<>();
        List<JsonNode> stages = new ArrayList<>();
        for (JsonNode each : JSON.readTree(trace).get("traceEvents")) {
            if (each.get("ph").asText().equals("X")) {
                (each.get("cat").asText().equals("wait") ? stages : events).add(each);
            }
        }
        assertThat(names(stages)).anyMatch(name -> name.endsWith("waybill::journal"));
        return events;
    }

    private static long begin(JsonNode event) {
        return Math.round(event.get("ts").asDouble() * 1_000); // the trace has microseconds
    }

    private static long end(JsonNode event) {
        return begin(event) + Math.round(event.get("dur").asDouble() * 1_000);
    }

    private static List<String> names(List<JsonNode> events) {
        return events.stream().map(event -> event.get("name").asText()).toList();
    }

    @Test
    @Order(1)
    void aNestedCallOverThreeNodesIsOneTrace() throws Exception {
        List<JsonNode> events = events(output("traced", "--node", "w0"));
        String first = "rpc_sync#pass.on(w0 -> w1)";
        String second = first + "#remote_op: rpc_sync#aten::ones(w1 -> w2)";
        assertThat(names(events))
                .startsWith(first, first + "#remote_op: pass.on", second, second + "#remote_op: aten::ones")
                .contains(second + "#remote_op: aten::empty", second + "#remote_op: aten::fill_");
        List<Integer> pids =
                events.stream().map(event -> event.get("pid").asInt()).toList();
        assertThat(pids.get(1)).as("the handler of w1, and its call").isEqualTo(pids.get(2));
        assertThat(List.of(pids.get(0), pids.get(1), pids.get(3)))
                .as("three workers")
                .doesNotHaveDuplicates();
        assertThat(pids.subList(3, pids.size())).as("what runs in w2").containsOnly(pids.get(3));
        for (int i = 1; i < events.size(); i++) {
            JsonNode around = events.get(Math.min(i, 4) - 1); // operators are in the handler of w2
            assertThat(begin(events.get(i)))
                    .as("%s in %s", events.get(i), around)
                    .isGreaterThanOrEqualTo(begin(around));
            assertThat(end(events.get(i))).as("%s in %s", events.get(i), around).isLessThanOrEqualTo(end(around));
        }

        for (String worker : List.of("w1", "w2")) { // one by one: libtorch loads once in a process
            JsonNode replayed =
                    JSON.readTree(output("replay", "--to", worker, "--type", "RUN_WITH_PROFILING_REQ", "--json"));
            assertThat(replayed.get("calls").asInt()).as(replayed.toString()).isOne();
            assertThat(replayed.get("all_same").asBoolean())
                    .as(replayed.toString())
                    .isTrue();
        }
    }

    @Test
    @Order(3)
    void profiledCallsSurviveUpdatesInTheirCallees() throws Exception {
        try (Command load = begin("traced", "begin", "--node", "w0")) {
            Command.until("the first call", () -> load.out().contains("begun"));
            for (int i = 2; i <= 4; i++) {
                Path next = directory.resolve("profiler-" + i + ".jar");
                BundleMaker.writeOtherVersion(profiler(), "0.1." + i, next);
                for (String node : List.of("w1", "w2")) {
                    output("bundle", "update", "--node", node, next.toString());
                }
            }
            output("traced", "end", "--node", "w0");
            Result result = load.await(300);
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(result.out()).matches("(?s)begun\\s+\\d+ done\\s+");
            assertThat(Integer.parseInt(result.out().replaceAll("\\D", "")))
                    .as("calls")
                    .isGreaterThan(10);
        }
        assertThat(names(events(output("traced", "--node", "w0"))))
                .as("with the new versions")
                .contains("rpc_sync#pass.on(w0 -> w1)#remote_op: rpc_sync#aten::ones(w1 -> w2)#remote_op: aten::ones");
    }

    private List<JsonNode> shown() throws Exception {
        return events(output("profile", "show", "--trace", "--node", "w1"));
    }

    @Test
    @Order(2)
    void aCommandProfilesWhatANodeServes() throws Exception {
        Result none = waybill("profile", "show", "--node", "w1");
        assertThat(none.exitCode()).isEqualTo(1);
        assertThat(none.err())
                .contains("profile show: expected a profile, found none in w1; begin one with profile start");
        assertThat(output("profile", "start", "--shapes", "--node", "w1"))
                .startsWith("profile 1 of w1 recorded since ");
        output("traced", "--node", "w0");
        output("call", "--to", "w1", "pass.on");
        String call = "rpc_sync#aten::ones(w1 -> w2)";
        assertThat(names(shown()))
                .as("what its caller profiled, with what is in w2, and a call")
                .startsWith("pass.on", call, call + "#remote_op: aten::ones")
                .endsWith("pass.on", call);
        Path next = directory.resolve("profiler-next.jar");
        BundleMaker.writeOtherVersion(profiler(), "0.1.1", next);
        output("bundle", "update", "--node", "w1", next.toString());
        assertThat(output("profile", "show", "--node", "w1"))
                .startsWith("0 events, 0 dropped, recorded since ")
                .contains("when the profiler was updated: what it had before is lost");
        output("call", "--to", "w1", "pass.on");
        assertThat(output("profile", "stop", "--node", "w1")).matches("(?s)profile 1 of w1 has \\d+ events, .*");
        output("call", "--to", "w1", "pass.on");
        assertThat(names(shown())).containsExactly("pass.on", call);
        assertThat(output("profile", "show", "--html", "--node", "w1"))
                .startsWith("<!DOCTYPE html>")
                .contains("</html>");
        assertThat(output("profile", "show", "--json", "--node", "w1").lines().toList())
                .filteredOn(line -> !line.contains("waybill::"))
                .hasSize(2)
                .allSatisfy(line ->
                        assertThat(JSON.readTree(line).get("count").asInt()).isOne());
    }
}
