package io.waybill.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A few faults in each build. The seed is in the output and in the error of a run that fails. */
class CrashSystemTest {

    private static final String ARGUMENTS = "waybill.crash";

    @TempDir
    private Path directory;

    private void run(String arguments) throws Exception {
        RunOptions options = RunOptions.parse(arguments.split(" "), directory);
        assertThat(new CrashRun(options, System.out).run())
                .as(options.toString())
                .isEmpty();
    }

    @Test
    @Timeout(600)
    void givesEveryCallOneOutcomeWhicheverIsKilled() throws Exception {
        run("--kills 4 --rate 5000");
    }

    @Test
    @Tag("ci")
    @Timeout(600)
    void givesEveryCallOneOutcomeWhicheverIsPaused() throws Exception {
        run("--fault pause --kills 1 --pause-most-ms 1500 --rate 5000");
    }

    @Test
    @Tag("ci")
    @Timeout(600)
    void givesEveryCallOneOutcomeWhereverAWorkerDies() throws Exception {
        run("--kills 3 --point all --rate 5000");
    }

    @Test
    @Tag("ci")
    @Timeout(600)
    void givesEveryCallOneOutcomeWhereAllCallEachOther() throws Exception {
        run("--pattern all --callers 4 --kills 4 --rate 2000");
    }

    /** What {@code -Dwaybill.crash="--kills 200"} asks for. */
    @Test
    @Tag("slow")
    @EnabledIfSystemProperty(named = ARGUMENTS, matches = ".+")
    @Timeout(36_000)
    void holdsAsLongAsAsked() throws Exception {
        run(System.getProperty(ARGUMENTS));
    }
}
