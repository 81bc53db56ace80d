package io.waybill.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A command whose work is delayed by something else names it. */
@Timeout(150)
class ProgressTest {

    private final StringWriter err = new StringWriter();

    private String waitFor(Surroundings.Watcher watcher, Supplier<Optional<String>> obstacle, Supplier<String> until) {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err, true),
                watcher,
                Path.of("home"),
                Optional.empty(),
                Path.of("tmp"),
                "17",
                Map.of());
        return Progress.during(surroundings, Host.real().threads(), "waiting for ps0: bundle.stop", obstacle, until);
    }

    @Test
    void namesOnceToProgramsWhatIsInTheWay() {
        AtomicInteger asked = new AtomicInteger();
        String result = waitFor(
                Surroundings.Watcher.PROGRAM,
                () -> asked.incrementAndGet() < 2 ? Optional.empty() : Optional.of("install org.acme.slow 1.0.0"),
                () -> {
                    Waits.until("the line is written", () -> !err.toString().isEmpty());
                    return "done";
                });
        assertThat(result).isEqualTo("done");
        assertThat(err.toString())
                .isEqualTo("waiting for ps0: bundle.stop, and before it install org.acme.slow 1.0.0\n");
        assertThat(asked).hasValue(2);
    }

    @Test
    void writesNothingForProgramsWhenNothingIsInTheWay() {
        AtomicInteger asked = new AtomicInteger();
        waitFor(
                Surroundings.Watcher.PROGRAM,
                () -> {
                    asked.incrementAndGet();
                    return Optional.empty();
                },
                () -> {
                    Waits.until("it was looked for", () -> asked.get() > 0);
                    return "done";
                });
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void showsAPersonWhatIsInTheWayAsLongAsItIs() {
        waitFor(Surroundings.Watcher.PERSON, () -> Optional.of("install org.acme.slow 1.0.0"), () -> {
            Waits.until("a line is shown", () -> err.toString().contains("…"));
            return "done";
        });
        assertThat(err.toString()).contains("bundle.stop, and before it install org.acme.slow 1.0.0 … ");
    }
}
