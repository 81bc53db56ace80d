package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.npy.Npy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls of real workers, with tensors and calls within calls, as they are shown and exported. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class StoredCallsTest {

    @TempDir
    Path temporary;

    private final Host host = Host.real();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Worker app;
    private Worker callee;
    private String call;

    @BeforeEach
    void callWithTensors() throws IOException {
        Home home = Home.open(temporary.resolve("home"), host);
        app = join(home, "app", "text.inner", (message, outbox) -> outbox.respond(Value.of("in")));
        callee = join(home, "callee", "tensor.pass", (message, outbox) -> {
            outbox.clock().millis();
            outbox.random().nextInt();
            try (Response inner = outbox.caller().call(Request.operation("app", "text.inner"))) {
                outbox.respond(Value.of(inner.value().toString().length()));
            }
        });
        Storage floats = app.buffers().allocate(24);
        floats.bytes(0, 24).order(ByteOrder.nativeOrder()).asFloatBuffer().put(new float[] {1, 2, 3, 4, 5, 6});
        Storage halves = app.buffers().allocate(4);
        halves.bytes(0, 4).put(new byte[] {0, 63, -128, 63});
        Request request = Request.operation("callee", "tensor.pass");
        request.body()
                .tensor("x", Tensor.contiguous(DType.FLOAT32, new long[] {2, 3}, floats))
                .tensor("h", Tensor.contiguous(DType.BFLOAT16, new long[] {2}, halves));
        CallContext context = CallContext.EMPTY
                .with("tenant", "blue\u001b[31m")
                .with("raw", new byte[] {-1, 0})
                .with(TraceContext.parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "v=1"));
        try (Response response = context.supply(() -> app.call(request))) {
            call = MessageId.text(response.id());
        } finally {
            floats.release();
            halves.release();
        }
    }

    @AfterEach
    void leave() throws IOException {
        app.close();
        callee.close();
    }

    private Worker join(Home home, String name, String operation, MessageHandler handler) throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Provider provider = new Provider("test-" + name, "1.0.0");
        registry.add(HandlerSpec.of(
                HandlerKey.parse(operation),
                handler,
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        Worker worker = Worker.join(home, name, JoinOptions.defaults(), WorkerSettings.defaults(), registry);
        worker.ready(Map.of());
        return worker;
    }

    private int run(String... args) {
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        temporary.resolve("home"),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of()),
                args);
    }

    @Test
    void showsTensorsAndTheTree() {
        assertThat(run("journal", "show", call)).as(err.toString()).isZero();
        assertThat(out.toString())
                .containsPattern("  tensor   0: float32\\[2, 3\\], storage 0 of 24 bytes: in the record, crc32c"
                        + " [0-9a-f]{8}\n")
                .containsPattern(
                        "  begun    [0-9.]+ [mu]?s after the request was sent, responded [0-9.]+ [mu]?s after that\n")
                .contains("  tensor   1: bfloat16[2], storage 1 of ")
                .containsPattern("  observed time 20[0-9]{2}-[-0-9]+ [:.0-9]+[+-][:0-9]+, random seed -?[0-9]+\n")
                .containsPattern("\ntree\n  " + call + " app -> callee tensor.pass  ok  [^\n]*  <- this message\n"
                        + "    1\\.[0-9]+ callee -> app text.inner  ok  ");
    }

    @Test
    void showsTheSameToPrograms() {
        assertThat(run("journal", "show", call, "--json")).as(err.toString()).isZero();
        assertThat(out.toString())
                .contains(
                        "\"stages\"",
                        "\"waited_ns\"",
                        "\"ran_ns\"",
                        "\"took_ns\"",
                        "\"kept\" : \"record\"",
                        "\"kind\" : \"seed\"",
                        "\"operation\" : \"text.inner\"");
    }

    @Test
    void drawsTheTreeForABrowser() throws IOException {
        Path page = temporary.resolve("call.html");
        String inner = MessageId.text(MessageId.of(callee.info().id(), 0));
        assertThat(run("journal", "trace", inner, "--out", page.toString()))
                .as(err.toString())
                .isZero();
        assertThat(out.toString()).isEqualTo(page + ": call " + call + " and 1 inside of it\n");
        assertThat(Files.readString(page))
                .startsWith("<!DOCTYPE html>")
                .contains("<h1>tensor.pass, call " + call + "</h1>")
                .containsPattern("<rect class=\"call\"[^>]*>.*tensor.pass -&gt; callee")
                .containsPattern("<rect class=\"handler\"")
                .containsPattern("<tr><td>" + inner + "<td>callee<td>app<td>text.inner<td")
                .containsPattern("<line class=\"flow\"")
                .doesNotContain("http", "<script", "NaN");
    }

    @Test
    void drawsTheTreeForPrograms() throws IOException {
        Path file = temporary.resolve("call.json");
        assertThat(run("journal", "trace", call, "--out", file.toString()))
                .as(err.toString())
                .isZero();
        String json = Files.readString(file);
        assertThat(json)
                .contains("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":"
                        + app.info().id() + ",\"tid\":0,\"args\":{\"name\":\"app (")
                .containsPattern("\"name\":\"tensor.pass -> callee\",\"ph\":\"X\",\"pid\":"
                        + app.info().id()
                        + ",\"tid\":0,\"cat\":\"call\",\"ts\":0.000,\"dur\":[0-9.]+,\"args\":\\{\"id\":\"" + call
                        + "\"")
                .containsPattern("\"name\":\"tensor.pass\",\"ph\":\"X\",\"pid\":"
                        + callee.info().id() + ",\"tid\":0,\"cat\":\"handler\"")
                .contains("\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"", "\"waited_ns\":", "\"ran_ns\":")
                .contains("\"parent\":\"" + call + "\"")
                .containsPattern("\"ph\":\"s\",\"pid\":[0-9]+,\"tid\":0,\"cat\":\"request\",\"id\":\"" + call + "\"")
                .containsPattern("\"ph\":\"f\",\"pid\":[0-9]+,\"tid\":0,\"cat\":\"request\",\"id\":\"" + call
                        + "\",\"ts\":[0-9.]+,\"bp\":\"e\"");
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            parser.nextToken();
            parser.skipChildren();
            assertThat(parser.nextToken())
                    .as("one object and nothing behind it")
                    .isNull();
        }
    }

    @Test
    void drawsOnlyWhatIsThereIntoNewFilesElsewhere() throws IOException {
        String file = Files.createFile(temporary.resolve("there.html")).toString();
        for (String[] wrong : new String[][] {
            {call, file, "there.html is there already"},
            {call, temporary.resolve("call.svg").toString(), "--out ends with .html or .json"},
            {call, temporary.resolve("home/call.html").toString(), "lies in the home"},
            {call, temporary.resolve("none/call.html").toString(), "is no directory"},
            {"1.99", temporary.resolve("call.html").toString(), "no request 1.99 in the journals"}
        }) {
            err.getBuffer().setLength(0);
            assertThat(run("journal", "trace", wrong[0], "--out", wrong[1])).isNotZero();
            assertThat(err.toString()).contains(wrong[2]);
        }
        assertThat(temporary.resolve("call.html")).doesNotExist();
    }

    @Test
    void showsTheContext() {
        assertThat(run("journal", "show", call)).as(err.toString()).isZero();
        assertThat(out.toString())
                .contains("  context  raw=0xff00, tenant=blue\\u001b[31m\n")
                .containsPattern("  trace    4bf92f3577b34da6a3ce929d0e0e4736, span [0-9a-f]{16}, called from span"
                        + " 00f067aa0ba902b7, sampled, state v=1\n");
        assertThat(out.toString().lines().filter(line -> line.startsWith("  context")))
                .hasSize(1);
        out.getBuffer().setLength(0);
        assertThat(run("journal", "show", call, "--json")).as(err.toString()).isZero();
        assertThat(out.toString().replaceAll("\\s", ""))
                .contains("\"context\":[{\"name\":\"raw\",\"bytes\":\"/wA=\"},{\"name\":\"tenant\",\"text\":\"blue")
                .contains("\"trace\":{\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"span_id\":\"")
                .contains("\"caller_span_id\":\"00f067aa0ba902b7\",\"sampled\":true,\"state\":\"v=1\"}");
    }

    @Test
    void callsWithAContext() {
        assertThat(run(
                        "call",
                        "--to",
                        "callee",
                        "tensor.pass",
                        "--context",
                        "tenant=a=b",
                        "--context",
                        "user=7",
                        "--traceparent",
                        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"))
                .as(err.toString())
                .isZero();
        out.getBuffer().setLength(0);
        assertThat(run("journal", "show", MessageId.text(cli(0))))
                .as(err.toString())
                .isZero();
        assertThat(out.toString())
                .contains("  context  tenant=a=b, user=7\n")
                .containsPattern("  trace    4bf92f3577b34da6a3ce929d0e0e4736, span [0-9a-f]{16}, called from span"
                        + " 00f067aa0ba902b7\n");
        for (String[] wrong : new String[][] {
            {"--context", "tenant", "NAME=VALUE"},
            {"--context", "a b=1", "letters and digits"},
            {"--context", "k=" + "x".repeat(9000), "at most 8192 bytes"},
            {"--traceparent", "00-1", "it has 4 characters"}
        }) {
            err.getBuffer().setLength(0);
            assertThat(run("call", "--to", "callee", "tensor.pass", wrong[0], wrong[1]))
                    .isEqualTo(2);
            assertThat(err.toString()).contains(wrong[2]);
        }
    }

    /** Returns the id of a request of the command's worker, which joined after the two others. */
    private static long cli(long number) {
        return MessageId.of(2, number);
    }

    @Test
    void exportsCallsAndTensors() throws IOException {
        Path directory = temporary.resolve("export");

        assertThat(run("journal", "export", "--from", "app", "--out", directory.toString()))
                .as(err.toString())
                .isZero();

        assertThat(out.toString()).isEqualTo("1 calls, 2 tensors in " + directory + "\n");
        List<String> lines = Files.readAllLines(directory.resolve("calls.jsonl"));
        assertThat(lines).hasSize(1);
        assertThat(lines.get(0))
                .startsWith("{\"id\":\"" + call + "\",\"outcome\":\"ok\",\"took_ns\":")
                .contains("\"file\":\"tensors/" + call + "-request-0.npy\"")
                .contains("\"file\":\"tensors/" + call + "-request-1.bfloat16.bin\"")
                .contains("\"operation\":\"tensor.pass\"")
                .containsPattern("\"response\":\\{.*\"observed\":\\[\\{\"kind\":\"time\",\"value\":[0-9]{19}},");
        Path floats = directory.resolve("tensors").resolve(call + "-request-0.npy");
        Npy.check(floats);
        byte[] npy = Files.readAllBytes(floats);
        ByteBuffer elements = ByteBuffer.wrap(npy, npy.length - 24, 24).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(elements.getFloat()).isEqualTo(1f);
        assertThat(Files.readAllBytes(directory.resolve("tensors").resolve(call + "-request-1.bfloat16.bin")))
                .containsExactly(0, 63, -128, 63);
    }

    @Test
    void refusesADirectoryThatIsNotEmpty() {
        assertThat(run("journal", "export", "--out", temporary.toString())).isEqualTo(1);
        assertThat(err.toString()).contains("is not empty").hasLineCount(1);
    }
}
