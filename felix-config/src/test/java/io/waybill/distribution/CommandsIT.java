package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Value;
import io.waybill.broker.file.StateFiles;
import io.waybill.broker.file.StateRecord;
import io.waybill.distribution.Command.Result;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A command of a bundle in a node of the assembled distribution, and its state on disk, while its user or its node is killed. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class CommandsIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final String NAME = "org.acme.ticks";
    private static final int SIGINT = 2;

    /** Runs until its user ends it, and counts in a store on disk how often it began and ended. */
    private static final String ACTIVATOR = """
            io.waybill.api.broker.Broker broker =
                    c.getService(c.getServiceReference(io.waybill.api.broker.Broker.class));
            c.registerService(io.waybill.api.tool.ToolCommand.class, new io.waybill.api.tool.ToolCommand() {
                @Override public io.waybill.api.tool.ToolDescription description() {
                    return io.waybill.api.tool.ToolDescription.of("ticks", "Ticks.")
                            .flag("--count", "Prints how often it began and ended.")
                            .limit(java.time.Duration.ZERO);
                }
                @Override public void run(io.waybill.api.tool.ToolRun run)
                        throws io.waybill.api.tool.ToolFailedException {
                    io.waybill.api.state.StateStore runs = broker.state(
                            "runs", io.waybill.api.state.StatePolicy.KEEP.onDisk());
                    if (run.isSet("--count")) {
                        run.line("began " + of(runs, "began") + " ended " + of(runs, "ended"));
                        return;
                    }
                    runs.put("began", Value.of(of(runs, "began") + 1));
                    do {
                        run.line("tick");
                    } while (run.pause(java.time.Duration.ofMillis(50)));
                    runs.put("ended", Value.of(of(runs, "ended") + 1));
                }
                private long of(io.waybill.api.state.StateStore runs, String key) {
                    return ((Value.Int) runs.get(key).orElse(Value.of(0))).value();
                }
            }, null);
            """;

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Command node;

    @BeforeEach
    void startNode() throws Exception {
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        start();
        Path jar = new BundleMaker(directory, DISTRIBUTION.resolve("lib"))
                .bundle(NAME, "ticks.on")
                .start(ACTIVATOR)
                .header(
                        "Import-Package",
                        "io.waybill.api,io.waybill.api.handler,io.waybill.api.broker,io.waybill.api.state,"
                                + "io.waybill.api.tool,org.osgi.framework")
                .build();
        assertThat(waybill("bundle", "install", "--node", "ps0", jar.toString()).exitCode())
                .isZero();
    }

    @AfterEach
    void stop() {
        node.close();
    }

    private void start() throws Exception {
        node = begin("node", "--name", "ps0");
        awaitOutput(node, "ready ps0", 1);
    }

    private void killNode() throws Exception {
        signal(node, "KILL");
        node.await();
    }

    private Command begin(String... words) throws IOException {
        List<String> all = new java.util.ArrayList<>(List.of(words));
        all.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        if (ignoresInterrupt()) {
            all.addAll(0, List.of("env", "--default-signal=INT"));
        }
        return Command.start(directory, environment, all);
    }

    /** Returns whether SIGINT is ignored, as in a background job of a script; children inherit that. */
    private static boolean ignoresInterrupt() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("SigIgn:")) {
                return (Long.parseUnsignedLong(line.split("\\s+")[1], 16) & 1 << SIGINT - 1) != 0;
            }
        }
        return false;
    }

    private Result waybill(String... words) throws Exception {
        try (Command command = begin(words)) {
            return command.await();
        }
    }

    private static void awaitOutput(Command command, String part, int times) throws Exception {
        Command.until(part, () -> {
            assertThat(command.process.isAlive()).as(command.err()).isTrue();
            return command.out().split(part, -1).length > times;
        });
    }

    private static void signal(Command command, String name) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(command.process.pid())).start();
        assertThat(kill.waitFor()).isZero();
    }

    private void awaitCounts(String counts) throws Exception {
        Command.until(
                counts, () -> waybill("ticks", "--count", "--node", "ps0").out().equals(counts + "\n"));
    }

    private StateFiles stores() {
        Host host = Host.real();
        return new StateFiles(directory.resolve("home/workers/0-ps0"), 0, 1, host.files(), host.clock());
    }

    private void awaitOnDisk(String key, long count) throws Exception {
        Command.until(key + " " + count + " on disk", () -> {
            for (StateRecord each : stores().read(NAME, "runs")) {
                if (each.key().equals(key) && each.value().equals(Value.of(count))) {
                    return true;
                }
            }
            return false;
        });
    }

    @Test
    void endsWithItsUser() throws Exception {
        assertThat(waybill("help", "--node", "ps0").out()).contains("ticks");
        try (Command ticks = begin("ticks", "--node", "ps0")) {
            awaitOutput(ticks, "tick\n", 3);
            signal(ticks, "INT"); // as Ctrl-C
            assertThat(ticks.await().exitCode()).as(ticks.err()).isEqualTo(128 + 2);
        }
        awaitCounts("began 1 ended 1");
        try (Command ticks = begin("ticks", "--node", "ps0")) {
            awaitOutput(ticks, "tick\n", 3);
            signal(ticks, "KILL");
            ticks.await();
        }
        awaitOnDisk("ended", 2); // once it is missed
        awaitCounts("began 2 ended 2");
    }

    @Test
    void failsWithItsNodeAndFindsItsStateInTheNextOne() throws Exception {
        try (Command ticks = begin("ticks", "--node", "ps0")) {
            awaitOutput(ticks, "tick\n", 1);
            awaitOnDisk("began", 1);
            killNode();
            Result failed = ticks.await();
            assertThat(failed.exitCode()).isEqualTo(1);
            assertThat(failed.err()).startsWith("waybill ticks: ").contains("ps0");
        }
        start();
        assertThat(waybill("ticks", "--count", "--node", "ps0")).isEqualTo(new Result(0, "began 1 ended 0\n", ""));
    }

    @Test
    void refusesADamagedStateAndServesOn() throws Exception {
        try (Command ticks = begin("ticks", "--node", "ps0")) {
            awaitOutput(ticks, "tick\n", 1);
            awaitOnDisk("began", 1);
        }
        killNode();
        Path file = stores().file(NAME, "runs");
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
        Result verified = waybill("journal", "verify");
        assertThat(verified.exitCode()).isEqualTo(1);
        assertThat(verified.out() + verified.err()).contains("the store runs of " + NAME);
        start();
        Result refused = waybill("ticks", "--count", "--node", "ps0");
        assertThat(refused.exitCode()).isEqualTo(1);
        assertThat(refused.err()).contains(file.getFileName().toString());
        assertThat(waybill("bundle", "list", "--node", "ps0").out()).contains(NAME);
        assertThat(file).hasBinaryContent(bytes);
    }
}
