package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The demo with a directory that is kept: what it says at its end works as written. */
@Tag("ci")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class DemoIT {

    private static final Path COMMAND =
            Path.of(System.getProperty("waybill.test.distribution")).resolve("bin/waybill");

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void use() throws IOException, InterruptedException {
        environment.putAll(Command.environment(Files.createDirectory(directory.resolve("user"))));
        environment.put("PATH", COMMAND.getParent() + ":/usr/bin:/bin");
    }

    @Test
    void leavesAHomeWhoseCallsGiveTheResponsesOnRecord() throws IOException, InterruptedException {
        String said = Command.run(directory, environment, COMMAND.toString(), "demo", "--keep", "kept")
                .output();
        List<String> commands = said.lines()
                .dropWhile(line -> !line.startsWith("That was it"))
                .filter(line -> line.startsWith("   $ "))
                .map(line -> line.substring(5))
                .toList();
        assertThat(commands).hasSize(2);
        for (String command : commands) {
            Result result = Command.run(directory, environment, "/bin/sh", "-c", command);
            assertThat(result.exitCode())
                    .as("%s: %s%s", command, result.out(), result.err())
                    .isZero();
            if (command.startsWith("waybill replay")) {
                assertThat(result.out()).containsPattern("(?m)^All [0-9]+ calls gave the response on record");
            }
        }
        assertThat(directory.resolve("user")).isEmptyDirectory();
    }

    @Test
    void writesIntoNoDirectoryWithSomethingInIt() throws IOException, InterruptedException {
        Result refused = Command.run(directory, environment, COMMAND.toString(), "demo", "--keep", ".");
        assertThat(refused.exitCode()).isEqualTo(1);
        assertThat(refused.err()).contains("is not empty").hasLineCount(1);
        assertThat(directory.resolve("home")).doesNotExist();
    }
}
