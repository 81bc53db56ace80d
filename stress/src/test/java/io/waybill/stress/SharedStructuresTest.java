package io.waybill.stress;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs jcstress on all {@code *Stress} classes of this module, in JVMs that it starts: none sees an outcome that is forbidden. */
@Tag("slow")
@Timeout(7200)
class SharedStructuresTest {

    private static final String MODE = System.getProperty("waybill.stress", "quick");
    private static final String CHOSEN = System.getProperty("waybill.stress.tests", ".*"); // a pattern of their names
    private static final String BUFFERS = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"; // of Agrona
    private static final Pattern TOTALS = Pattern.compile(
            "\\(Results: (\\d+) planned; (\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard errs\\)");

    @TempDir
    private Path directory;

    @Test
    void noOutcomeIsForbidden() throws IOException, InterruptedException {
        Path output = directory.resolve("output");
        Process stress = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.openjdk.jcstress.Main",
                        "-m",
                        MODE,
                        "-t",
                        CHOSEN,
                        "--jvmArgsPrepend",
                        BUFFERS,
                        "-r",
                        directory.resolve("results").toString()))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        int status = stress.waitFor();
        String printed = Files.readString(output);
        assertThat(status).as("status of jcstress; %s", printed).isZero();
        List<MatchResult> totals = TOTALS.matcher(printed).results().toList();
        assertThat(totals).as(printed).isNotEmpty();
        MatchResult last = totals.get(totals.size() - 1);
        assertThat(last.group(2)).as("passed of those planned; %s", printed).isEqualTo(last.group(1));
        assertThat(Integer.parseInt(last.group(1))).as("combinations that ran").isPositive();
        System.out.println(last.group());
    }
}
