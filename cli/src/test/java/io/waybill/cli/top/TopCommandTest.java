package io.waybill.cli.top;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command on a home with two live workers. */
@Timeout(300)
class TopCommandTest {

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Worker server;
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        MessageHandler echo = (message, outbox) -> outbox.respond(Value.of("on"));
        MessageHandler failing = (message, outbox) -> {
            throw new IllegalStateException("planted");
        };
        server = Waybill.connect(temporary.resolve("home"), "server")
                .with("text.echo", echo)
                .with("text.a-very-long-name-of-an-operation-that-fails", failing)
                .join();
        caller = Waybill.connect(temporary.resolve("home"), "caller").join();
    }

    @AfterEach
    void leave() throws IOException {
        caller.close();
        server.close();
    }

    private int run(int columns, String... args) {
        out.getBuffer().setLength(0);
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        Optional.of(temporary.resolve("home")),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of(),
                        columns,
                        Optional::empty),
                args);
    }

    private void call(int times) {
        for (int i = 0; i < times; i++) {
            caller.call(Request.operation("server", "text.echo")).close();
            caller.callAsync(Request.operation("server", "text.a-very-long-name-of-an-operation-that-fails"))
                    .handle((response, failure) -> null)
                    .join();
        }
    }

    private Optional<String> row(String worker, String operation, String... more) throws IOException {
        String[] args = new String[5 + more.length];
        System.arraycopy(new String[] {"top", "--json", "--count", "1", "--interval=1100ms"}, 0, args, 0, 5);
        System.arraycopy(more, 0, args, 5, more.length);
        assertThat(run(0, args)).as(err.toString()).isZero();
        Matcher found = Pattern.compile(
                        "\\{\"worker\":\"" + worker + "\",\"operation\":\"" + operation + "\"[^}]*\\{[^}]*\\}[^}]*\\}")
                .matcher(out.toString());
        return found.find() ? Optional.of(found.group()) : Optional.empty();
    }

    private static long number(String row, String field) {
        Matcher found = Pattern.compile("\"" + field + "\":(-?[0-9]+)").matcher(row);
        assertThat(found.find()).as("%s in %s", field, row).isTrue();
        return Long.parseLong(found.group(1));
    }

    @Test
    void countsWhatWorkersServeAndCall() throws Exception {
        call(30);
        Optional<String> served = Optional.empty();
        while (served.isEmpty() || number(served.get(), "count") < 30) {
            served = row("server", "text.echo");
        }
        assertThat(number(served.get(), "count")).isEqualTo(30);
        assertThat(number(served.get(), "in_flight")).isZero();
        assertThat(number(served.get(), "lag")).isZero();
        assertThat(number(served.get(), "heap_bytes")).isPositive();
        Optional<String> calls = row("caller", "text.echo", "--called");
        while (calls.isEmpty() || number(calls.get(), "count") < 30) {
            calls = row("caller", "text.echo", "--called");
        }
        assertThat(number(calls.get(), "count")).isEqualTo(30);
        assertThat(row("caller", "-", "--filter", "caller")).isPresent();
        assertThat(row("server", "text.echo", "--filter", "caller")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {40, 80, 160})
    void fitsIntoTheTerminal(int columns) throws Exception {
        call(3);
        while (row("server", "text.echo").isEmpty()) {
            continue;
        }
        assertThat(run(columns, "top", "--count", "1", "--interval=100ms")).isZero();
        assertThat(out.toString()).startsWith("\u001b[H\u001b[2J");
        List<String> lines = out.toString().substring(7).lines().toList();
        assertThat(lines)
                .hasSizeGreaterThan(2)
                .allSatisfy(line -> assertThat(line.length()).as(line).isLessThanOrEqualTo(columns));
        assertThat(lines.get(0)).contains("WORKER", "RATE/S", "P99");
        assertThat(lines.get(0).contains("COUNT")).isEqualTo(columns == 160);
        assertThat(lines).anySatisfy(line -> assertThat(line).startsWith("server  "));
    }

    private static TopRow row(int number) {
        return new TopRow("ps0", "text.o" + number, 1, LatencyHistogram.EMPTY, 1, 0, 0, Map.of(), 0, 0, 0);
    }

    private static List<String> table(int rows, int height) {
        StringWriter text = new StringWriter();
        TopTable.print(
                IntStream.range(0, rows).mapToObj(TopCommandTest::row).toList(), 80, height, new PrintWriter(text));
        return text.toString().lines().toList();
    }

    @ParameterizedTest
    @CsvSource({"10, 11, 10", "10, 10, 8", "10, 4, 2", "10, 3, 1", "10, 2, 1", "10, 1, 1", "0, 5, 0"})
    void fitsIntoALowTerminal(int rows, int height, int shown) {
        List<String> lines = table(rows, height);
        assertThat(lines).hasSizeLessThanOrEqualTo(Math.max(2, height));
        assertThat(lines.get(0)).startsWith("WORKER");
        assertThat(lines).filteredOn(line -> line.startsWith("ps0")).hasSize(shown);
        if (shown < rows && height > 2) {
            assertThat(lines).last().isEqualTo("(" + (rows - shown) + " more rows)");
        }
    }

    @Test
    void printsPlainBlocksWithoutATerminal() {
        assertThat(run(0, "top", "--count", "2", "--interval=100ms")).isZero();
        assertThat(out.toString()).doesNotContain("\u001b");
        assertThat(out.toString().lines().filter(line -> line.startsWith("WORKER")))
                .hasSize(2);
        assertThat(out.toString().lines().filter(String::isEmpty)).hasSize(2);
    }

    @Test
    void refusesWrongUse() {
        assertThat(run(0, "top", "--sort", "name")).isEqualTo(2);
        assertThat(err.toString()).contains("--sort is rate, p99, errors or inflight: name");
        assertThat(run(0, "top", "--interval", "1ms")).isEqualTo(2);
    }
}
