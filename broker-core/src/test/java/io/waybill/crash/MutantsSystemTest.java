package io.waybill.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.crash.agent.Mutant;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Builds with a planted bug each: a run of a few faults must find every one. */
class MutantsSystemTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource
    @Tag("slow")
    @Timeout(240)
    void areCaught(Mutant mutant) throws Exception {
        String arguments = mutant.run() + " --mutant " + mutant;
        List<String> problems = new CrashRun(RunOptions.parse(arguments.split(" "), directory), System.out).run();
        assertThat(problems).as(arguments).anyMatch(problem -> problem.contains(mutant.caughtAs() + "="));
    }

    /** One of them in each build, so that the others can be trusted to be planted. */
    @Test
    @Timeout(240)
    void areCaughtInEachBuild() throws Exception {
        areCaught(Mutant.RUN_TWICE);
    }
}
