package io.waybill.cli.workers;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.WorkerDirectory;
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

/** Giving up a worker that is gone for good. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ForgetCommandTest {

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Home home;

    @BeforeEach
    void makeHome() throws IOException {
        home = Home.open(temporary.resolve("home"), Host.real());
    }

    private int run(String... args) {
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        home.path(),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of()),
                args);
    }

    private boolean isForgotten(String name) throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            return home.isForgotten(membership.members().find(name).orElseThrow());
        }
    }

    @Test
    void refusesAWorkerThatIsAlive() throws IOException {
        try (WorkerDirectory alive = home.join("trainer")) {
            assertThat(run("workers", "forget", "trainer")).isEqualTo(1);
            assertThat(err.toString()).contains("worker trainer is alive").hasLineCount(1);
            assertThat(isForgotten(alive.name())).isFalse();
        }
    }

    @Test
    void forgetsOneIncarnationOfAWorker() throws IOException {
        home.join("trainer").leave();
        assertThat(run("workers", "forget", "trainer")).isZero();
        assertThat(run("workers", "forget", "0")).isZero();
        assertThat(isForgotten("trainer")).isTrue();
        home.join("trainer").leave();
        assertThat(isForgotten("trainer")).isFalse();
    }

    @Test
    void saysThatThereIsNoSuchWorker() {
        assertThat(run("workers", "forget", "nobody")).isEqualTo(1);
        assertThat(err.toString()).contains("no worker nobody").hasLineCount(1);
    }
}
