package io.waybill.cli.workers;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.Request;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code waybill workers} shows of workers that do not keep up. */
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class WorkersCommandTest {

    @TempDir
    Path temporary;

    private JsonNode workers() throws IOException {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        temporary.resolve("home"),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of()),
                "workers",
                "--json");
        assertThat(code).as(err.toString()).isZero();
        return new ObjectMapper().readTree(out.toString()).get("workers");
    }

    private long lagOf(String name) throws IOException {
        for (JsonNode worker : workers()) {
            if (worker.get("name").asText().equals(name)) {
                return worker.path("lag").asLong(-1);
            }
        }
        throw new AssertionError("no worker " + name);
    }

    /** A worker that joined and reads nothing, as one that is stopped. */
    @Test
    void countsWhatAWorkerHasNotRead() throws Exception {
        Home home = Home.open(temporary.resolve("home"), Host.real());
        Waybill.connect(home, "stopped").join().close(); // leaves its queues
        try (WorkerDirectory stopped = home.join("stopped");
                Worker caller = Waybill.connect(home, "caller").join()) {
            stopped.publish(WorkerState.READY, List.of("text.count"), Map.of());
            for (int i = 0; i < 3; i++) {
                caller.callAsync(Request.operation("stopped", "text.count")).handle((response, failure) -> null);
            }
            assertThat(lagOf("caller")).isZero();
            Waits.until("three requests wait", () -> lagOf("stopped") == 3);
        }
    }
}
