package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code waybill top} on a terminal, which util-linux's {@code script} makes: its keys, and that the terminal is as before afterwards. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class TopIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final Path SCRIPT = Path.of("/usr/bin/script");
    private static final long SIGINT_BIT = 1 << 1;
    /** What stty prints of a terminal: all its settings as numbers. */
    private static final Pattern SETTINGS = Pattern.compile("(?m)^((?:[0-9a-f]+:){10,}[0-9a-f]+)\\s*$");

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Command node;

    @BeforeEach
    void startNode() throws Exception {
        assumeTrue(Files.isExecutable(SCRIPT), "there is no " + SCRIPT);
        assumeTrue(takesSigint(), "SIGINT is ignored here, as in a background job of a shell");
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        node = Command.start(directory, environment, List.of(waybill(), "node", "--name", "ps0"));
        Command.until("ready", () -> {
            assertThat(node.process.isAlive()).as(node.err()).isTrue();
            return node.out().contains("ready ps0");
        });
    }

    /** A process inherits what is ignored, and a shell's trap can't change it. */
    private static boolean takesSigint() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .noneMatch(line -> (Long.parseUnsignedLong(line.substring(7).strip(), 16) & SIGINT_BIT) != 0);
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

    /** Starts the command between two looks at the settings of its terminal. */
    private Command top() throws IOException {
        String line = "trap : INT; stty rows 20 cols 100; stty -g; " + waybill()
                + " top --interval 200ms; echo code $?; stty -g";
        return Command.start(directory, environment, List.of(SCRIPT.toString(), "-qefc", line, "/dev/null"));
    }

    private static void press(Command top, String keys) throws IOException {
        OutputStream in = top.process.getOutputStream();
        in.write(keys.getBytes(StandardCharsets.UTF_8));
        in.flush();
    }

    private static void until(Command top, String text) throws Exception {
        Command.until(text, () -> {
            assertThat(top.process.isAlive() || top.out().contains(text))
                    .as(top.out())
                    .isTrue();
            return top.out().contains(text);
        });
    }

    private static void assertTerminalAsBefore(String out) {
        List<String> settings =
                SETTINGS.matcher(out).results().map(found -> found.group(1)).toList();
        assertThat(settings).as(out).hasSize(2);
        assertThat(settings.get(1)).isEqualTo(settings.get(0));
    }

    @Test
    void followsKeysAndGivesTheTerminalBack() throws Exception {
        try (Command top = top()) {
            until(top, "sort: rate");
            press(top, ">");
            until(top, "sort: p99");
            press(top, "/nowhere\n");
            until(top, "/ filter: nowhere");
            press(top, "p");
            until(top, "PAUSED");
            press(top, "q");
            Result result = top.await();
            assertThat(result.out()).contains("code 0").contains("WORKER").doesNotContain("/nowhere\r");
            assertTerminalAsBefore(result.out());
        }
    }

    @Test
    void givesTheTerminalBackAfterCtrlC() throws Exception {
        try (Command top = top()) {
            until(top, "sort: rate");
            press(top, "\u0003");
            Result result = top.await();
            Matcher code = Pattern.compile("code (\\d+)").matcher(result.out());
            assertThat(code.find()).as(result.out()).isTrue();
            assertThat(Integer.parseInt(code.group(1))).isEqualTo(130);
            assertTerminalAsBefore(result.out());
        }
    }
}
