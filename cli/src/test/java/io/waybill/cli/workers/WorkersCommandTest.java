package io.waybill.cli.workers;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.Request;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.home.identity.Groups;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.home.identity.Reachability;
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
        return new ObjectMapper().readTree(run("--json").out()).get("workers");
    }

    private record Printed(String out, String err) {}

    private Printed run(String option) {
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
                option);
        assertThat(code).as(err.toString()).isZero();
        return new Printed(out.toString(), err.toString());
    }

    private long lagOf(String name) throws IOException {
        return worker(name).path("lag").asLong(-1);
    }

    private JsonNode worker(String name) throws IOException {
        for (JsonNode worker : workers()) {
            if (worker.get("name").asText().equals(name)) {
                return worker;
            }
        }
        throw new AssertionError("no worker " + name);
    }

    @Test
    void showsAnIdentityGroupsAndCarriers() throws Exception {
        Home home = Home.open(
                temporary.resolve("home"), Host.real(), Home.ROLL_CYCLE_DEFAULT, new HomeIdentity("h1", 512, 1023));
        JoinOptions options = JoinOptions.defaults()
                .withGroups(Groups.of("trainers", "canary"))
                .withReachability(new Reachability("carrier-h2"));
        home.join("a", options).close();

        Printed text = run("--all");
        assertThat(text.err()).contains("Home of host h1 with worker ids 512-1023");
        assertThat(text.out()).contains("(carrier: carrier-h2) (groups: trainers canary)");
        JsonNode json = new ObjectMapper().readTree(run("--json").out());
        assertThat(json.get("host").asText()).isEqualTo("h1");
        assertThat(json.get("worker_ids").asText()).isEqualTo("512-1023");
        JsonNode worker = json.get("workers").get(0);
        assertThat(worker.get("id").asInt()).isEqualTo(512);
        assertThat(worker.get("reachability").asText()).isEqualTo("remote");
        assertThat(worker.get("carrier").asText()).isEqualTo("carrier-h2");
        assertThat(worker.get("groups")).extracting(JsonNode::asText).containsExactly("trainers", "canary");
    }

    @Test
    void showsNoIdentityOfALocalHome() throws Exception {
        Home.open(temporary.resolve("home"), Host.real()).join("a").close();

        Printed text = run("--all");
        assertThat(text.err()).doesNotContain("host");
        assertThat(text.out()).doesNotContain("carrier", "groups");
        JsonNode json = new ObjectMapper().readTree(run("--json").out());
        assertThat(json.get("worker_ids").asText()).isEqualTo("0-511");
        assertThat(json.get("workers").get(0).get("reachability").asText()).isEqualTo("local");
    }

    @Test
    void showsTheFiguresOfBundlesAndPrograms() throws Exception {
        Home home = Home.open(temporary.resolve("home"), Host.real());
        Waybill.connect(home, "left").join().close();
        assertThat(run("--figures").err()).contains("No live worker publishes a figure of a bundle.");
        try (Worker worker = Waybill.connect(home, "shop").join()) {
            worker.broker().counter("orders-refused").add(3);
            worker.broker().gauge("queue-depth", () -> -5);
            Waits.until("both are published", () -> run("--figures").out().contains("queue-depth"));
            assertThat(run("--figures").out().lines())
                    .contains("WORKER  BUNDLE     KIND     NAME             VALUE")
                    .contains("shop    (program)  counter  orders-refused   3")
                    .contains("shop    (program)  gauge    queue-depth      -5");
            assertThat(worker("shop").get("figures"))
                    .extracting(JsonNode::toString)
                    .contains(
                            "{\"bundle\":\"(program)\",\"kind\":\"counter\",\"name\":\"orders-refused\",\"value\":3}",
                            "{\"bundle\":\"(program)\",\"kind\":\"gauge\",\"name\":\"queue-depth\",\"value\":-5}");
            assertThat(worker("left").has("figures")).isFalse();
        }
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
