package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A store that is kept on disk, in a process that is killed while it writes. */
@Timeout(180)
class KeptStateCrashTest {

    private static final int KILLS = 4;
    private static final int COUNTS = 2_000;

    @TempDir
    Path directory;

    @Test
    void findsAStateThatWasThereAfterEachKill() throws Exception {
        long put = 0;
        long found = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            Process process = start();
            try (BufferedReader lines = process.inputReader()) {
                long now = number(lines, "found ");
                assertThat(now).as("found after kill %d", kill).isBetween(found, put);
                if (kill > 0) {
                    assertThat(now).as("progress before kill %d", kill).isGreaterThan(found);
                }
                found = now;
                for (int i = 0; i < COUNTS || !isWritten(found); i++) {
                    put = number(lines, "put ");
                }
            } finally {
                process.destroyForcibly().waitFor(); // SIGKILL
            }
            put += COUNTS * 1000L; // it went on while it was killed
        }
    }

    private boolean isWritten(long found) throws IOException {
        Path file = directory.resolve("home/workers/0-counter/state/(program)@counts.state");
        return Files.exists(file) && counted(file) > found;
    }

    private static long counted(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        return java.nio.ByteBuffer.wrap(content)
                .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                .getLong(content.length - Long.BYTES);
    }

    private static long number(BufferedReader lines, String prefix) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith(prefix)) {
                return Long.parseLong(line.substring(prefix.length()));
            }
        }
        throw new AssertionError("the process has ended");
    }

    private Process start() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-") || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(List.of(
                CountingProcess.class.getName(), directory.resolve("home").toString()));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }
}
