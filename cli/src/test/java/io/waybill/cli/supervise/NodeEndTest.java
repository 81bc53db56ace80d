package io.waybill.cli.supervise;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is made of a process's end. */
@Timeout(30)
class NodeEndTest {

    @TempDir
    Path directory;

    @Test
    void explainsExitCodes() {
        assertThat(ExitCodes.explain(137)).isEqualTo("killed by signal 9 (SIGKILL)");
        assertThat(ExitCodes.explain(139)).isEqualTo("killed by signal 11 (SIGSEGV)");
        assertThat(ExitCodes.explain(128 + 40)).isEqualTo("killed by signal 40");
        assertThat(ExitCodes.explain(128)).isEqualTo("exit code 128");
        assertThat(ExitCodes.explain(255)).isEqualTo("exit code 255");
        assertThat(ExitCodes.explain(0)).startsWith("exit code 0: ");
        assertThat(ExitCodes.explain(1)).startsWith("exit code 1: it failed");
        assertThat(ExitCodes.explain(2)).startsWith("exit code 2: it was started wrongly");
        assertThat(ExitCodes.explain(126)).contains("could not be run");
    }

    @Test
    void findsTheJvmsReportOfACrash() {
        CrashReport report = new CrashReport();
        """
                2026-11-20 INFO something
                #
                # A fatal error has been detected by the Java Runtime Environment:
                #
                #  SIGSEGV (0xb) at pc=0x00007f0c, pid=7, tid=8
                #
                # Problematic frame:
                # C  [libtorch_cpu.so+0x85f14]
                #
                # An error report file with more information is saved as:
                # /tmp/hs_err_pid7.log
                #
                """.lines().forEach(report::line);

        assertThat(report.cause()).isEqualTo("the JVM crashed: SIGSEGV (0xb) in C [libtorch_cpu.so+0x85f14]");
        assertThat(report.file()).isEqualTo("/tmp/hs_err_pid7.log");
    }

    @Test
    void findsNoCrashWhereThereIsNone() {
        CrashReport report = new CrashReport();
        "one\n# Problematic frame:\n\nSIGSEGV (0xb)\n".lines().forEach(report::line);

        assertThat(report.cause()).isEmpty();
        assertThat(report.file()).isEmpty();
    }

    @Test
    void countsKillsBecauseMemoryRanOut() throws IOException {
        Path group = Files.writeString(directory.resolve("memory.events"), "low 0\nmax 7\noom 3\noom_kill 2\n");
        Path host = Files.writeString(directory.resolve("vmstat"), "nr_free_pages 1\noom_kill 5\n");
        MemoryKills kills = new MemoryKills(List.of(group, host, directory.resolve("none")));

        assertThat(kills.count()).isEqualTo(7);
        Files.writeString(group, "oom_kill 3\noom_group_kill 9\n");
        assertThat(kills.count()).isEqualTo(8);
        Files.writeString(group, "oom_kill x\n");
        assertThat(kills.count()).isEqualTo(5);
    }

    @Test
    void cutsLinesThatAreVeryLong() {
        List<String> lines = new ArrayList<>();
        String text = "first\n" + "x".repeat(100_000) + "\nlast";

        ChildOutput.read(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)), lines::add);

        assertThat(lines).containsExactly("first", "x".repeat(4096), "last");
    }
}
