package io.waybill.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import io.waybill.torch.LibTorch;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;

/** The example that learns, in a process of its own, with a parameter server here. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class IrisTest {

    private static final Path EXAMPLE = Path.of("../../examples/iris");
    private static final Pattern PRINTED =
            Pattern.compile("loss (\\S+) to (\\S+), accuracy (\\S+) on 30 flowers that the trainers did not see\n");
    private static final int TRAINERS = 2;
    private static final int ROUNDS = 60;
    private static final int PARAMETERS = 4;

    @TempDir
    private Path directory;

    @Test
    void learnsTheSameEachTimeAndIsReplayedBitForBit() throws Exception {
        String first = trained("first");
        Matcher printed = PRINTED.matcher(first);
        assertThat(printed.matches()).as(first).isTrue();
        assertThat(Double.parseDouble(printed.group(3))).as("accuracy").isGreaterThanOrEqualTo(0.9);
        assertThat(Double.parseDouble(printed.group(2))).isLessThan(Double.parseDouble(printed.group(1)) / 5);
        assertThat(trained("second")).as("a second run").isEqualTo(first);

        Recorded recorded = Recorded.replayed(directory.resolve("first"), "worker0");
        assertThat(recorded.differences()).isEmpty();
        assertThat(recorded.count("autograd.optimizer.step") + recorded.count("FORWARD_AUTOGRAD_REQ"))
                .as("parameters fetched, and steps")
                .isGreaterThanOrEqualTo(TRAINERS * ROUNDS * (PARAMETERS + 1));
        assertThat(recorded.count("BACKWARD_AUTOGRAD_REQ")).isEqualTo(2 * TRAINERS * ROUNDS * PARAMETERS);
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
    }

    private String trained(String home) throws Exception {
        Path out = directory.resolve(home + ".out");
        Path curve = directory.resolve(home + ".svg");
        try (TestWorkers server = TestWorkers.of(directory.resolve(home), 1)) {
            Process process = new ProcessBuilder(command(directory.resolve(home), curve))
                    .redirectOutput(out.toFile())
                    .redirectErrorStream(true)
                    .start();
            try {
                process.waitFor();
            } finally {
                process.destroyForcibly();
            }
            assertThat(process.exitValue()).as(Files.readString(out)).isZero();
            Waits.until(
                    "nothing is left at the parameter server",
                    () -> server.autograd(0).contexts().isEmpty()
                            && server.autograd(0).optimizers().count() == 0);
        }
        Element svg = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(curve.toFile())
                .getDocumentElement();
        Element line = (Element) svg.getElementsByTagName("polyline").item(0);
        assertThat(line.getAttribute("points").split(" "))
                .as("points of the curve")
                .hasSize(ROUNDS);
        return Files.readString(out);
    }

    private static List<String> command(Path home, Path curve) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(flag ->
                        flag.startsWith("--add-") || flag.startsWith("-Dchronicle.") || flag.startsWith("-Dslf4j."))
                .forEach(command::add);
        command.add("-D" + LibTorch.NATIVES_PROPERTY + "=" + System.getProperty(LibTorch.NATIVES_PROPERTY));
        command.addAll(
                List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path")));
        command.add(EXAMPLE.resolve("Iris.java").toString());
        command.addAll(
                List.of(home.toString(), "worker0", EXAMPLE.resolve("iris.csv").toString(), curve.toString()));
        return command;
    }
}
