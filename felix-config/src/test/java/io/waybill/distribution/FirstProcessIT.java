package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command as PID 1, as in a container. Skipped without root, {@code unshare} and {@code /usr/bin/python3}. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class FirstProcessIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path UNSHARE = Path.of("/usr/bin/unshare");
    private static final int ORPHANS = 3;

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();

    private static String waybill() {
        return DISTRIBUTION.resolve("bin/waybill").toString();
    }

    /** What the first process of the node's namespace has below it, and that is no JVM: a name and a state each. */
    private static List<String> othersBelow(ProcessHandle first) throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<ProcessHandle> children = first.children()) {
            for (ProcessHandle child : children.toList()) {
                Path stat = Path.of("/proc", Long.toString(child.pid()), "stat");
                String text = Files.exists(stat) ? Files.readString(stat) : "";
                if (!text.isEmpty() && !text.contains("(java)")) {
                    found.add(text.substring(text.indexOf('('), text.lastIndexOf(')') + 3));
                }
            }
        }
        return found;
    }

    @Test
    void reapsWhatOthersLeaveAndPassesSignalsOn() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root"), "a pid namespace needs root");
        assumeTrue(Files.isExecutable(UNSHARE), "there is no " + UNSHARE);
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "there is no /usr/bin/python3");
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        List<String> start =
                List.of(UNSHARE.toString(), "--pid", "--fork", "--mount-proc", waybill(), "node", "--name", "ps0");
        try (Command node = Command.start(directory, environment, start)) {
            Command.until("the node is ready", () -> {
                assumeTrue(!node.err().startsWith("unshare: "), "this machine permits no pid namespace");
                return node.out().startsWith("ready ps0");
            });
            ProcessHandle first = node.process.children().findFirst().orElseThrow();
            String pid = Long.toString(first.pid());
            for (int i = 0; i < ORPHANS; i++) { // the shell ends, and what it has started goes to PID 1
                Command.run(
                                directory,
                                environment,
                                "/usr/bin/nsenter",
                                "--target",
                                pid,
                                "--pid",
                                "--mount",
                                waybill(),
                                "call",
                                "--to",
                                "ps0",
                                "os:system",
                                "'sleep 0.2 &'")
                        .output();
            }
            Command.until(
                    "nothing is left of the orphans", () -> othersBelow(first).isEmpty());

            first.destroy();
            assertThat(node.await().exitCode()).as(node.err()).isZero();
        }
    }
}
