package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the views of a call show is what its caller got, for each way in which a call can end. Callees are processes. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class CallOutcomesTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PS0 = 1; // the second worker of the home
    private static final String BUNDLE = "org.acme.outcomes 1.2.3";

    @TempDir
    Path temporary;

    private final Host host = Host.real();
    private final List<Process> processes = new ArrayList<>();
    private final List<Ended> calls = new ArrayList<>();
    private Worker app;

    /**
     * A call that has ended.
     *
     * @param code null: its caller got a response
     * @param root the code of the call that failed first; null when it failed by itself
     */
    private record Ended(String what, long id, ErrorCode code, ErrorCode root, boolean isLate, String by) {

        String idText() {
            return MessageId.text(id);
        }

        String outcome() {
            if (code == null) {
                return "ok";
            }
            return "error " + code + (root == null ? "" : " <- " + root) + (isLate ? ", late" : "");
        }
    }

    @BeforeEach
    void join() throws IOException {
        app = join("app");
    }

    @AfterEach
    void end() throws IOException {
        app.close();
        processes.forEach(Process::destroyForcibly);
    }

    private Worker join(String name) throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Home home = Home.open(temporary.resolve("home"), host);
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), WorkerSettings.defaults(), registry);
        worker.ready(Map.of());
        return worker;
    }

    private Process start(String name) throws IOException {
        Process process =
                new ProcessBuilder(command(name)).redirectErrorStream(true).start();
        processes.add(process);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        List<String> log = new ArrayList<>();
        for (String line = lines.readLine(); !"ready".equals(line); line = lines.readLine()) {
            assertThat(line).as("%s ended: %s", name, log).isNotNull();
            log.add(line);
        }
        return process;
    }

    private List<String> command(String name) {
        List<String> words = new ArrayList<>();
        words.add(ProcessHandle.current().info().command().orElseThrow());
        java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--add-") || argument.startsWith("--enable-"))
                .forEach(words::add);
        words.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), ServingMain.class.getName()));
        words.addAll(List.of(temporary.resolve("home").toString(), name));
        return words;
    }

    private static Request operation(String name, Duration timeout) {
        return Request.operation("ps0", name).timeout(timeout);
    }

    /** Waits for a call's outcome, and notes what its caller got. */
    private Ended ended(String what, CompletableFuture<Response> call, boolean isLate, String by) {
        Ended ended;
        try (Response response = call.join()) {
            ended = new Ended(what, response.id(), null, null, isLate, by);
        } catch (CompletionException e) {
            CallException failure = (CallException) e.getCause();
            ErrorCode root = failure.rootCode() == failure.code() ? null : failure.rootCode();
            ended = new Ended(what, failure.messageId(), failure.code(), root, isLate, by);
        }
        calls.add(ended);
        return ended;
    }

    private String run(String... words) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        Surroundings surroundings = new Surroundings(
                new PrintWriter(out),
                new PrintWriter(err),
                Surroundings.Watcher.PROGRAM,
                temporary.resolve("home"),
                Optional.empty(),
                temporary,
                "17",
                Map.of());
        assertThat(Commands.run(surroundings, words)).as(err.toString()).isZero();
        return out.toString();
    }

    private void makeOutcomes() throws Exception {
        Duration limit = Duration.ofSeconds(60);
        start("ps0");
        Process lost = start("ps1");
        ended("response", app.callAsync(operation("t.ok", limit)), false, BUNDLE);
        assertThat(ended("error", app.callAsync(operation("t.throw", limit)), false, BUNDLE).code)
                .isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(ended("refused", app.callAsync(operation("t.refuse", limit)), false, BUNDLE).code)
                .isEqualTo(ErrorCode.REFUSED);
        assertThat(ended("unknown", app.callAsync(operation("t.never", limit)), false, "").code)
                .isEqualTo(ErrorCode.UNKNOWN_OPERATION);

        Request late = operation("t.late", Duration.ofMillis(300));
        late.body().int64("ms", 1_000);
        Ended timedOutLate = ended("late response", app.callAsync(late), true, BUNDLE);
        assertThat(timedOutLate.code).isEqualTo(ErrorCode.TIMED_OUT);
        Ended timedOut = ended("timeout", app.callAsync(operation("t.hold", Duration.ofMillis(200))), false, "");
        assertThat(timedOut.code).isEqualTo(ErrorCode.TIMED_OUT);
        Ended parked = ended("parked", app.callAsync(operation("t.gone", Duration.ofMillis(200))), false, "");
        assertThat(parked.code).isEqualTo(ErrorCode.TIMED_OUT);

        Request nested = operation("t.nested", limit);
        nested.body().text("path", "ps0,ps1");
        CompletableFuture<Response> deep = app.callAsync(nested);
        CompletableFuture<Response> held =
                app.callAsync(Request.operation("ps1", "t.hold").timeout(limit));
        Waits.until(
                "ps1 holds both",
                () -> run("journal", "list", "--to", "ps1", "--json").lines().count() == 2);
        lost.destroyForcibly().waitFor();
        assertThat(ended("lost", held, false, "").code).isEqualTo(ErrorCode.WORKER_LOST);
        Ended failedInside = ended("nested", deep, false, BUNDLE);
        assertThat(failedInside.code).isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(failedInside.root).isEqualTo(ErrorCode.WORKER_LOST);

        Worker closing = join("closing");
        CompletableFuture<Response> cancelled = closing.callAsync(operation("t.hold", limit));
        closing.close();
        assertThat(ended("closed", cancelled, false, "").code).isEqualTo(ErrorCode.CLOSED);
        Waits.until("the late response is written", () -> shown(timedOutLate).has("response"));
    }

    private JsonNode shown(Ended call) throws IOException {
        return JSON.readTree(run("journal", "show", call.idText(), "--json"));
    }

    private Map<String, JsonNode> listed(String... options) throws IOException {
        List<String> words = new ArrayList<>(List.of("journal", "list", "--limit", "0", "--json"));
        words.addAll(List.of(options));
        Map<String, JsonNode> calls = new HashMap<>();
        for (String line : run(words.toArray(String[]::new)).split("\n")) {
            if (!line.isEmpty()) {
                JsonNode call = JSON.readTree(line);
                calls.put(call.get("id").asText(), call);
            }
        }
        return calls;
    }

    @Test
    void areShownAsTheirCallersGotThem() throws Exception {
        makeOutcomes();

        Map<String, JsonNode> all = listed();
        String table = run("journal", "list", "--limit", "0");
        for (Ended call : calls) {
            agrees(call, all.get(call.idText()));
            JsonNode json = shown(call);
            agrees(call, json);
            String text = run("journal", "show", call.idText());
            assertThat(text).as(call.what).contains(call.by.isEmpty() ? "message" : "bundle   " + call.by + "\n");
            assertThat(text.contains("  late     the caller had got TIMED_OUT "))
                    .as("%s: %s", call.what, text)
                    .isEqualTo(call.isLate);
            if (call.code == ErrorCode.HANDLER_FAILED) {
                assertThat(text).as(call.what).contains("Error on Node " + PS0 + " (ps0): ");
            }
            assertThat(lineOf(call, table)).as(call.what).contains("  " + call.outcome() + " ", call.by);
            agreesInTrace(call);
            areFound(call);
        }
        assertThat(listed("--response", "fine")).containsOnlyKeys(calls.get(0).idText());
        assertThat(listed("--where", "ms=1000", "--error", "TIMED_OUT")).hasSize(1);
    }

    private static String lineOf(Ended call, String table) {
        return table.lines()
                .filter(line -> line.contains("  " + call.idText() + "  "))
                .findFirst()
                .orElseThrow();
    }

    private void agrees(Ended call, JsonNode json) {
        String shown = call.what + ": " + json;
        assertThat(json.path("outcome").asText()).as(shown).isEqualTo(call.code == null ? "ok" : "error");
        assertThat(json.path("error_code").asText()).as(shown).isEqualTo(call.code == null ? "" : call.code.name());
        assertThat(json.path("root_code").asText()).as(shown).isEqualTo(call.root == null ? "" : call.root.name());
        assertThat(json.path("late").asBoolean()).as(shown).isEqualTo(call.isLate);
        assertThat((json.path("bundle").asText() + " "
                                + json.path("bundle_version").asText())
                        .strip())
                .as(shown)
                .isEqualTo(call.by);
        assertThat(json.path("took_ns").asLong()).as(shown).isPositive();
    }

    private void agreesInTrace(Ended call) throws IOException {
        Path events = temporary.resolve(call.idText() + ".json");
        run("journal", "trace", call.idText(), "--out", events.toString());
        List<JsonNode> spans = new ArrayList<>();
        JSON.readTree(Files.readString(events)).get("traceEvents").forEach(event -> {
            if (event.path("args").path("id").asText().equals(call.idText())) {
                spans.add(event.get("args"));
            }
        });
        assertThat(spans).as(call.what).isNotEmpty().allSatisfy(span -> {
            assertThat(span.path("outcome").asText()).as(call.what).isEqualTo(call.outcome());
            assertThat(span.path("bundle").asText()).as(call.what).isEqualTo(call.by);
        });
    }

    private void areFound(Ended call) throws IOException {
        if (call.code != null) {
            assertThat(listed("--error", call.code.name())).as(call.what).containsKey(call.idText());
        }
        if (call.root != null) {
            assertThat(listed("--error", call.root.name())).as(call.what).containsKey(call.idText());
        }
        Map<String, JsonNode> ok = listed("--outcome", "ok");
        assertThat(ok.containsKey(call.idText())).as(call.what).isEqualTo(call.code == null);
        assertThat(listed("--outcome", "none")).as(call.what).doesNotContainKey(call.idText());
    }

    /** A slice of the calls shows them as the home does. */
    @Test
    void areShownInASliceAsInItsHome() throws Exception {
        makeOutcomes();
        Path slice = temporary.resolve("calls.slice");
        run("journal", "slice", "--since", "1h", "--out", slice.toString());
        Map<String, JsonNode> all = listed("--slice", slice.toString());
        for (Ended call : calls) {
            if (all.containsKey(call.idText())) {
                agrees(call, all.get(call.idText()));
            }
        }
        assertThat(all.keySet())
                .as("calls with a response")
                .contains(calls.get(0).idText(), calls.get(4).idText());
        assertThat(listed("--slice", slice.toString(), "--error", "TIMED_OUT"))
                .containsKey(calls.get(4).idText());
    }

    /** Calls three deep whose innermost worker is killed: the first caller gets the innermost code. */
    @Test
    void giveTheFirstCallerTheInnermostCode() throws Exception {
        start("ps0");
        start("ps2");
        for (String operation : List.of("t.nested", "t.nestedAsync")) {
            Process lost = start("ps1");
            Request request = Request.operation("ps0", operation).timeout(Duration.ofSeconds(60));
            request.body().text("path", "ps2,ps0,ps1");
            CompletableFuture<Response> call = app.callAsync(request);
            String expected = operation.equals("t.nested") ? "1" : "2";
            Waits.until(
                    "ps1 holds the innermost call",
                    () -> Long.toString(run("journal", "list", "--to", "ps1", "--json")
                                    .lines()
                                    .count())
                            .equals(expected));
            lost.destroyForcibly().waitFor();
            Ended ended = ended(operation, call, false, BUNDLE);
            assertThat(ended.code).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(ended.root).as(operation).isEqualTo(ErrorCode.WORKER_LOST);
            String root = shown(ended).path("root_id").asText();
            assertThat(run("journal", "show", root))
                    .as("the call that failed first")
                    .contains(" to ps1 ", "response  none, the caller got WORKER_LOST ");
        }
    }
}
