package io.waybill.cuda.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.standin.StandIn;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The program of {@code tools/gpu-check}, with the driver of the tests as that of the machine. */
@Timeout(300)
class GpuCheckTest {

    @TempDir
    private Path directory;

    @Test
    void reportsDevicesTestsAndBenchmark() throws Exception {
        StandIn driver = StandIn.in(directory.resolve("driver"));
        assertThat(run(driver)).isZero();
        assertThat(report())
                .contains(
                        "\"name\" : \"Stand-in 0\"",
                        "\"passed\" : 16",
                        "\"skipped\" : 1",
                        "\"failed\" : 0",
                        "\"error\" : \"\"",
                        "\"passed\" : true")
                .contains(
                        "\"direction\" : \"to_device\"",
                        "\"direction\" : \"to_host\"",
                        "\"bytes\" : 1048576",
                        "\"sharedMedianNs\" : ",
                        "\"ratio\" : ",
                        "\"waiting\" : \"balanced\"",
                        "\"waiting\" : \"spin\"",
                        "\"inFlight\" : 4",
                        "\"inFlightRatio\" : ");
        assertThat(driver.get("violations")).isZero();
        assertThat(driver.nonZero("live_")) // of the process that a test kills
                .isEqualTo(Map.of("live_contexts", 1L, "live_imports", 1L));
    }

    @Test
    void failsWithTheReasonWhereNoDeviceCanBeUsed() throws Exception {
        StandIn driver = StandIn.in(directory.resolve("driver"));
        driver.set("init_error", 803);
        assertThat(run(driver)).isEqualTo(1);
        assertThat(report()).contains("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "\"passed\" : false");
    }

    @Test
    void failsWithTheTestsThatFail() throws Exception {
        StandIn driver = StandIn.in(directory.resolve("driver"));
        driver.set("fail_copy_at", 1);
        assertThat(run(driver)).isEqualTo(1);
        assertThat(report()).contains("CUDA_ERROR_ILLEGAL_ADDRESS", "\"failed\" : 1", "\"passed\" : false");
    }

    private String report() throws Exception {
        return Files.readString(directory.resolve("report.json"));
    }

    private int run(StandIn driver) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("--add-"))
                .forEach(command::add);
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"));
        command.addAll(List.of("-Dchronicle.analytics.disable=true", "-Dslf4j.internal.verbosity=ERROR"));
        command.add("-Djava.io.tmpdir=" + Files.createDirectories(directory.resolve("tmp")));
        command.add("-D" + CudaNatives.DRIVER_PROPERTY + "=" + driver.library());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), GpuCheck.class.getName()));
        command.addAll(List.of(directory.resolve("report.json").toString(), "1", "3"));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            return process.waitFor(200, TimeUnit.SECONDS) ? process.exitValue() : -1;
        } finally {
            process.destroyForcibly();
        }
    }
}
