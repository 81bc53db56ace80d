package io.waybill.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.host.Host;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the command says of what it can't do. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ReplayCommandTest {

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeEach
    void makeHome() throws IOException {
        Home.open(temporary.resolve("home"), Host.real());
    }

    private int run(String... args) {
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        temporary.resolve("home"),
                        Optional.of(temporary),
                        temporary,
                        "17",
                        Map.of()),
                args);
    }

    @ParameterizedTest
    @CsvSource({
        "--compare,roughly,--compare is exact or tolerance",
        "--rtol,1e-3,--rtol and --atol go with --compare tolerance",
        "--times,0,--times must be 1 or more: 0",
        "--pace,slow,'--pace is fast, original or step, not slow'",
        "--limit,soon,a time is a number with",
        "--slice,a.slice,--home and --slice exclude each other",
        "--id,first,worker.counter"
    })
    void refusesWhatIsWrittenWrongly(String option, String value, String reason) {
        assertThat(run("replay", "--home", temporary.resolve("home").toString(), option, value))
                .isEqualTo(2);
        assertThat(err.toString()).hasLineCount(1).contains(reason, "see waybill replay --help");
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void refusesNumbersThatAreNoTolerance() {
        assertThat(run("replay", "--compare", "tolerance", "--rtol", "-1")).isEqualTo(2);
        assertThat(err.toString()).hasLineCount(1).contains("rtol must be a finite number from 0 on: -1.0");
    }

    @Test
    void saysWhatIsNotThere() {
        assertThat(run("replay", "--home", temporary.resolve("none").toString()))
                .isEqualTo(1);
        assertThat(run("replay", "--slice", temporary.resolve("none.slice").toString()))
                .isEqualTo(1);
        assertThat(run("replay", "--to", "ps0")).isEqualTo(1);
        assertThat(run("replay", "--bundle", temporary.resolve("none.jar").toString()))
                .isEqualTo(1);
        assertThat(err.toString())
                .contains("no home at ", "no slice at ", "no worker ps0 is on record", "no bundle at ")
                .hasLineCount(4);
    }

    @Test
    void failsWhenThereIsNothingToReplay() {
        assertThat(run("replay")).isEqualTo(1);
        assertThat(out.toString()).contains("Nothing was replayed");
    }
}
