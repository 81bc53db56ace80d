package io.waybill.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Prometheus's own tool, where it is installed. */
final class Promtool {

    private static final long LIMIT_S = 120;

    private Promtool() {}

    /** Checks a scrape. Skips the test where there is no promtool. */
    static void checkMetrics(byte[] scrape, Path directory) throws Exception {
        Path file = Files.write(directory.resolve("promtool.in"), scrape);
        int status = run(directory, file, "check", "metrics");
        assertThat(status).isIn(0, 3); // 3 stands for advice: about names of Micrometer, and none of ours
        assertThat(Files.readAllLines(directory.resolve("promtool.out")))
                .noneMatch(line -> line.startsWith("waybill_"));
    }

    /** Runs it in a directory, and fails the test when it fails. Skips the test where there is no promtool. */
    static void run(Path directory, String... words) throws Exception {
        assertThat(run(directory, null, words))
                .as("promtool %s", String.join(" ", words))
                .isZero();
    }

    private static int run(Path directory, Path input, String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of(words));
        command.add(0, found().toString());
        Path output = directory.resolve("promtool.out");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        if (input != null) {
            builder.redirectInput(input.toFile());
        }
        Process process = builder.start();
        try {
            assertThat(process.waitFor(LIMIT_S, TimeUnit.SECONDS)).isTrue();
            assertThat(Files.readString(output)).doesNotContain("error while linting", "FAILED");
            System.out.println(Files.readString(output));
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private static Path found() throws IOException {
        List<Path> found = Stream.of(System.getenv("PATH").split(":"))
                .map(directory -> Path.of(directory, "promtool"))
                .filter(Files::isExecutable)
                .toList();
        assumeTrue(!found.isEmpty(), "promtool is not installed: the Debian package prometheus has it");
        return found.get(0);
    }
}
