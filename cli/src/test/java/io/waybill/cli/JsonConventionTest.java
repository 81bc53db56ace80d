package io.waybill.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What commands print as JSON: names in snake_case, times in ISO 8601, as docs/adr/0094-json-of-commands.md has it. */
@Timeout(150)
class JsonConventionTest {

    private static final Set<String> TIMES =
            Set.of("sent", "begun", "first_sent", "last_sent", "written", "since", "at");
    private static final String TIME = "20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z";
    /** What is below these names is data: its names are not ours. */
    private static final Set<String> DATA =
            Set.of("settings", "types", "named", "result", "value", "reasons", "summary");

    private static final long YEAR_2001_MS = 1_000_000_000_000L;

    @TempDir
    Path directory;

    private final AtomicBoolean hasFailed = new AtomicBoolean();
    private Worker server;
    private String call;

    @BeforeEach
    void call() throws IOException {
        Path home = directory.resolve("home");
        server = Waybill.connect(home, "ps0")
                .with("text.count", (message, outbox) -> outbox.response().int64("words", 2))
                .with("text.once", (message, outbox) -> {
                    if (!hasFailed.getAndSet(true)) {
                        throw new IllegalStateException("at first");
                    }
                    outbox.response();
                })
                .join();
        try (Worker client = Waybill.connect(home, "client").join();
                var response = client.call(Request.operation("ps0", "text.count"))) {
            call = MessageId.text(response.id());
        }
    }

    @AfterEach
    void leave() throws IOException {
        server.close();
    }

    private List<String> namesAndTimesOf(String... args) throws IOException {
        List<String> times = new ArrayList<>();
        try (MappingIterator<JsonNode> values =
                new ObjectMapper().readerFor(JsonNode.class).readValues(run(args))) {
            values.forEachRemaining(value -> check(value, String.join(" ", args), times));
        }
        return times;
    }

    private String run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        directory.resolve("home"),
                        Optional.empty(),
                        directory,
                        "17",
                        Map.of()),
                args);
        assertThat(code).as(err.toString()).isZero();
        return out.toString();
    }

    private static void check(JsonNode value, String where, List<String> times) {
        value.properties().forEach(field -> {
            String at = where + " " + field.getKey();
            assertThat(field.getKey()).as(at).matches("[a-z0-9]+(_[a-z0-9]+)*");
            if (TIMES.contains(field.getKey())) {
                assertThat(field.getValue().asText()).as(at).matches(TIME);
                times.add(field.getKey());
            } else if (field.getKey().matches(".*_(ns|us|ms|s)")) {
                assertThat(field.getValue().asLong()).as("%s is a duration", at).isLessThan(YEAR_2001_MS);
            }
            if (!DATA.contains(field.getKey())) {
                check(field.getValue(), at, times);
            }
        });
        if (value.isArray()) {
            value.forEach(item -> check(item, where, times));
        }
    }

    @Test
    void holdsForTheHome() throws IOException {
        assertThat(namesAndTimesOf("workers", "--all", "--json")).contains("since");
        assertThat(namesAndTimesOf("top", "--json", "--count", "1", "--interval", "100ms"))
                .contains("at");
        namesAndTimesOf("rrefs", "--json");
    }

    @Test
    void holdsForTheJournals() throws IOException {
        assertThat(namesAndTimesOf("journal", "list", "--json")).contains("sent");
        assertThat(namesAndTimesOf("journal", "tail", "--json")).contains("sent", "begun");
        assertThat(namesAndTimesOf("journal", "show", call, "--json")).contains("sent", "begun");
        assertThat(namesAndTimesOf("journal", "stats", "--json")).contains("first_sent", "last_sent");
        namesAndTimesOf("journal", "verify", "--json");
    }

    @Test
    void holdsForCalls() throws IOException {
        namesAndTimesOf("call", "--to", "ps0", "text.count", "text=to be", "--json");
    }

    @Test
    void holdsForFailedCalls() throws IOException {
        String failed;
        try (Worker client =
                Waybill.connect(directory.resolve("home"), "client").join()) {
            CallException failure =
                    catchThrowableOfType(CallException.class, () -> client.call(Request.operation("ps0", "text.once")));
            failed = MessageId.text(failure.messageId());
        }
        assertThat(namesAndTimesOf("dead", "resend", failed, "--json")).isEmpty();
        assertThat(namesAndTimesOf("dead", "list", "--all", "--json")).contains("sent");
        assertThat(namesAndTimesOf("dead", "show", failed, "--json")).contains("sent", "begun");
    }

    @Test
    void holdsForExportedFiles() throws IOException {
        Path exported = directory.resolve("exported");
        run("journal", "export", "--out", exported.toString());
        List<String> times = new ArrayList<>();
        for (String line : Files.readAllLines(exported.resolve("calls.jsonl"))) {
            check(new ObjectMapper().readTree(line), "journal export", times);
        }
        assertThat(times).contains("sent", "begun");
    }

    @Test
    void holdsForSalvagedHomes() throws IOException {
        server.close();
        namesAndTimesOf(
                "journal",
                "salvage",
                "--json",
                "--out",
                directory.resolve("salvaged").toString());
    }

    @Test
    void holdsForWhatControlOperationsRespond() throws IOException {
        record Listed(int inFlight, Instant since, List<String> absentPolicies) {}
        Listed listed = new Listed(3, Instant.ofEpochSecond(0, 1_795_473_130_933_123_456L), List.of());
        StringWriter out = new StringWriter();
        Json.print(new PrintWriter(out, true), json -> ControlJson.write(List.of(listed), json));
        List<String> times = new ArrayList<>();
        JsonNode shown = new ObjectMapper().readTree(out.toString());
        check(shown, "bundle list", times);
        assertThat(shown.get(0).get("since").asText()).isEqualTo("2026-11-23T22:32:10.933123Z");
        assertThat(shown.get(0).get("in_flight").asInt()).isEqualTo(3);
        assertThat(shown.get(0).has("absent_policies")).isTrue();
    }
}
