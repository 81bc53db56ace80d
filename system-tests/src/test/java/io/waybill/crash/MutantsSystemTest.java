package io.waybill.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.crash.agent.Mutant;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Builds with a planted bug each: a run of a few faults must find every one, in each build, so that a run that finds nothing can be trusted. */
@Tag("ci")
class MutantsSystemTest {

    /** Where a fault falls is chance, and a busy machine has fewer calls on which a bug can show. */
    private static final int RUNS = 3;

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @EnumSource
    @Timeout(600)
    void isCaught(Mutant mutant) throws Exception {
        String arguments = mutant.run() + " --mutant " + mutant;
        String expected = mutant.caughtAs() + "=";
        List<String> problems = List.of();
        for (int run = 0; run < RUNS && problems.stream().noneMatch(problem -> problem.contains(expected)); run++) {
            Path ofRun = Files.createDirectory(directory.resolve("try-" + run));
            problems = new CrashRun(RunOptions.parse(arguments.split(" "), ofRun), System.out).run();
        }
        assertThat(problems)
                .as("the planted bug %s was not found in %d runs of %s", mutant, RUNS, arguments)
                .anyMatch(problem -> problem.contains(expected));
    }
}
