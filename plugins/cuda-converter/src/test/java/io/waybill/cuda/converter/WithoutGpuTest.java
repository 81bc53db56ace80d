package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.standin.StandIn;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The converter on a machine without a GPU, in processes of their own. */
@Timeout(300)
class WithoutGpuTest {

    private static final int LIMIT_S = 200;

    @TempDir
    private Path directory;

    /** Runs the process, and returns what it printed. */
    private List<String> run(Path driver) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--add-") || argument.startsWith("-Dchronicle."))
                .forEach(command::add);
        command.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Djava.io.tmpdir=" + directory,
                "-D" + CudaNatives.DRIVER_PROPERTY + "=" + driver,
                "-D" + CudaNatives.DIRECTORY_PROPERTY + "=" + directory.resolve("native"),
                "-cp",
                System.getProperty("java.class.path"),
                WithoutGpuProcess.class.getName(),
                directory.resolve("home").toString()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            List<String> lines = process.inputReader().lines().toList();
            assertThat(process.waitFor(LIMIT_S, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(lines.toString()).isZero();
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }

    private static void requireUnavailable(List<String> lines, String... texts) {
        assertThat(lines.get(0)).startsWith("reason: ").contains(texts);
        assertThat(lines.get(1)).isEqualTo("types: [cpu, cuda]");
        assertThat(lines.get(2)).startsWith("error: DEVICE_UNAVAILABLE ").contains(texts);
        assertThat(lines.subList(3, lines.size())).containsExactly("response: 1", "open: true");
    }

    @Test
    void saysThatTheDriverIsMissing() throws Exception {
        Path missing = directory.resolve("none").resolve("libcuda.so.1");
        requireUnavailable(run(missing), "waybill.cuda.driver", missing.toString());
    }

    @Test
    void saysThatTheDriverFindsNoGpu() throws Exception {
        StandIn driver = StandIn.in(directory.resolve("driver"));
        driver.set("devices", 0);
        requireUnavailable(run(driver.library()), "finds no GPU");
        driver.set("devices", 1);
        driver.set("init_error", 100);
        requireUnavailable(run(driver.library()), "cuInit failed: CUDA_ERROR_NO_DEVICE");
        assertThat(driver.nonZero("live_")).isEmpty();
        assertThat(driver.get("violations")).isZero();
    }
}
