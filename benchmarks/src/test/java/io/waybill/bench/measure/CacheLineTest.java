package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CacheLineTest {

    private static final Path TASKSET = Path.of("/usr/bin/taskset");

    /** Prints the figure of a process. */
    static final class Main {
        public static void main(String[] arguments) {
            System.out.println(CacheLine.roundTripNs());
        }
    }

    @Test
    void saysThatBothThreadsHadOneProcessor() throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(TASKSET), "taskset, of util-linux, is not installed");
        Process process = new ProcessBuilder(
                        TASKSET.toString(),
                        "-c",
                        "0",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName())
                .redirectErrorStream(true)
                .start();
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
            assertThat(output.strip())
                    .as("what is no time between two processors")
                    .isEqualTo(Long.toString(CacheLine.ONE_PROCESSOR));
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void neverReportsATimeSliceAsTheTimeOfALine() {
        assertThat(CacheLine.roundTripNs()).isBetween(CacheLine.ONE_PROCESSOR, 5_000L);
    }
}
