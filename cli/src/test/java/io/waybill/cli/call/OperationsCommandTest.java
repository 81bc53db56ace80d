package io.waybill.cli.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What users see of described operations. */
@Timeout(150)
class OperationsCommandTest {

    private static final MessageHandler EMPTY = (message, outbox) -> outbox.response();

    private static final OperationDescription COUNT = OperationDescription.of(
                    "text.count", "Counts the words of a text.")
            .argument("text", FieldType.TEXT, "what is counted")
            .optionalArgument("max words", FieldType.INTEGER, "")
            .argument("weights", FieldType.TENSOR, "of each word")
            .result("words", FieldType.INTEGER, "number of words");

    /** Calls each function of a module with all its arguments, and prints what it passes on. */
    private static final String CALL_EACH = String.join(
            "\n",
            "import inspect, json, operations",
            "for name, function in sorted(vars(operations).items()):",
            "    if inspect.isfunction(function):",
            "        named = {each: each for each in inspect.signature(function).parameters if each not in ('to', 'timeout')}",
            "        result = function.__annotations__['return']",
            "        keys = {key: str(value) for key, value in getattr(result, '__annotations__', {}).items()}",
            "        print(json.dumps({**function(**named, to='ps1'), 'text': function.__doc__, 'result': keys}))");

    @TempDir
    Path temporary;

    private final List<Worker> workers = new ArrayList<>();

    private record Printed(int code, String out, String err) {}

    private void join(Waybill program) throws IOException {
        workers.add(program.join());
    }

    private Waybill server(String name) {
        return Waybill.connect(temporary.resolve("home"), name);
    }

    @AfterEach
    void leave() throws IOException {
        for (Worker worker : workers) {
            worker.close();
        }
    }

    private Printed run(String... options) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> words = new ArrayList<>(List.of("operations"));
        words.addAll(List.of(options));
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
                words.toArray(String[]::new));
        return new Printed(code, out.toString(), err.toString());
    }

    @Test
    void areListedForAllWorkersOrForOne() throws IOException {
        join(server("ps0").with(COUNT, EMPTY).with("py.*", EMPTY));
        join(server("ps1").with("text.trim", EMPTY));
        join(server("client")
                .settings(WorkerSettings.builder()
                        .role(WorkerSettings.Role.CALLS_ONLY)
                        .build()));

        assertThat(run().out()).isEqualToIgnoringNewLines("""
                OPERATION   WORKER  SUMMARY
                py.*        ps0     -
                text.count  ps0     Counts the words of a text.
                text.trim   ps1     -
                """);
        assertThat(run("--worker", "ps1").out()).contains("text.trim").doesNotContain("text.count");

        Printed absent = run("--worker", "ps2");
        assertThat(absent.code()).isEqualTo(1);
        assertThat(absent.err()).startsWith("ps2 did not respond: ");
    }

    @Test
    void showTheirArgumentsAndTheirResult() throws IOException {
        join(server("ps0").with(COUNT, EMPTY).with("text.trim", EMPTY));

        assertThat(run("text.count")).isEqualTo(new Printed(0, """
                text.count on ps0, by io.waybill.cli.call.OperationsCommandTest (program)
                Counts the words of a text.

                ARGUMENT   TYPE               MEANING
                text       text               what is counted
                max words  integer, optional  -
                weights    tensor             of each word

                RESULT  TYPE     MEANING
                words   integer  number of words

                waybill call --to ps0 text.count text=TEXT ['max words':=INTEGER] weights=@FILE.npy
                """, ""));
        assertThat(run("text.trim").out()).endsWith("It has no description.\n");

        Printed unknown = run("text.cuont");
        assertThat(unknown.code()).isEqualTo(1);
        assertThat(unknown.err())
                .isEqualTo("waybill operations: no worker serves text.cuont; see what is served: waybill operations\n");
    }

    @Test
    void areJson() throws IOException {
        join(server("ps0").with(COUNT, EMPTY).with("text.trim", EMPTY));

        JsonNode worker =
                new ObjectMapper().readTree(run("--json").out()).get("workers").get(0);

        assertThat(worker.get("name").asText()).isEqualTo("ps0");
        JsonNode description = worker.get("operations").get(0).get("description");
        assertThat(description.get("summary").asText()).isEqualTo("Counts the words of a text.");
        assertThat(description.get("arguments").get(1))
                .isEqualTo(new ObjectMapper()
                        .readTree("{\"name\":\"max words\",\"type\":\"INTEGER\",\"optional\":true,\"text\":\"\"}"));
        assertThat(worker.get("operations").get(1).get("description").isNull()).isTrue();
    }

    /** A description whose texts would run, or break the module, if they were not only in literals. */
    @Test
    void areAPythonModuleWhateverTheirTextsAre() throws Exception {
        String hostile = "\"\"\"\\\"'''; import os; os.mkdir('ran') # \ud83d\ude00 é %s {} \\N{DASH}";
        OperationDescription odd = OperationDescription.of("class.def", hostile)
                .argument("to", FieldType.TEXT, hostile)
                .argument("2nd", FieldType.REAL, "")
                .argument("a-b", FieldType.BYTES, "")
                .optionalArgument("a.b", FieldType.BOOLEAN, "")
                .argument(hostile.substring(0, 50), FieldType.DICT, "")
                .argument("fields", FieldType.ANY, "")
                .argument("lambda", FieldType.LIST, "")
                .argument("é", FieldType.LIST, "")
                .result(hostile.substring(0, 50), FieldType.TEXT, hostile);
        join(server("ps0")
                .with(COUNT, EMPTY)
                .with(odd, EMPTY)
                .with(OperationDescription.of("text_count.x", "Has a similar name."), EMPTY)
                .with(OperationDescription.of("text.count_x", "Has the same name in Python."), EMPTY)
                .with(OperationDescription.of("function:math.scale", "Is called otherwise."), EMPTY));
        join(server("ps1").with(COUNT, EMPTY));

        Printed printed = run("--python");

        assertThat(printed.code()).as(printed.err()).isZero();
        assertThat(printed.out())
                .contains("def text_count(\n    *,\n    text: str,\n    weights: typing.Any,\n    to: str,\n"
                        + "    max_words: typing.Optional[int] = None,\n")
                .contains("    to: str = \"ps0\",\n")
                .contains("def text_count_x(", "def text_count_x_2(")
                .doesNotContain("scale");
        Files.writeString(temporary.resolve("operations.py"), printed.out());
        // a stand-in for the client: what a function passes to it
        Files.writeString(
                temporary.resolve("waybill.py"),
                "def call(name, *, to, timeout, fields):\n    return {'name': name, 'to': to, 'fields': fields}\n");
        List<String> lines = python(CALL_EACH).lines().toList();
        assertThat(lines).as("the functions, called with all their arguments").hasSize(4);
        JsonNode called = new ObjectMapper().readTree(lines.get(0));
        assertThat(called.get("name").asText()).isEqualTo("class.def");
        assertThat(called.get("to").asText()).isEqualTo("ps1");
        assertThat(called.get("fields").fieldNames())
                .toIterable()
                .containsExactlyElementsOf(odd.arguments().stream()
                        .map(OperationDescription.Field::name)
                        .toList());
        assertThat(called.get("text").asText())
                .startsWith(hostile + "\n\n:param to_: " + hostile + "\n\n:param f_2nd: ");
        assertThat(called.get("result").fieldNames()).toIterable().containsExactly(hostile.substring(0, 50));
        assertThat(temporary.resolve("ran")).doesNotExist();
    }

    private String python(String program) throws IOException, InterruptedException {
        Path log = temporary.resolve("python.log");
        Process process;
        try {
            process = new ProcessBuilder("python3", "-B", "-X", "utf8", "-c", program)
                    .directory(temporary.toFile())
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(log.toFile())
                    .start();
        } catch (IOException e) {
            assumeTrue(false, "no python3: " + e.getMessage());
            throw e;
        }
        process.waitFor();
        return Files.readString(log);
    }
}
