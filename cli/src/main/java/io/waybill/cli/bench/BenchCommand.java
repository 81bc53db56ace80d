package io.waybill.cli.bench;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.bench.BenchDistribution;
import io.waybill.bench.EnvelopeCost;
import io.waybill.bench.ExtensionCost;
import io.waybill.bench.HomeSize;
import io.waybill.bench.Idle;
import io.waybill.bench.LookupRate;
import io.waybill.bench.OperatorCall;
import io.waybill.bench.Pairs;
import io.waybill.bench.ProfilingCost;
import io.waybill.bench.PythonCall;
import io.waybill.bench.QuotaUnderLoad;
import io.waybill.bench.RecordingCost;
import io.waybill.bench.ReferenceCall;
import io.waybill.bench.ReplayRate;
import io.waybill.bench.SwapUnderLoad;
import io.waybill.bench.TensorTransfer;
import io.waybill.bench.app.Application;
import io.waybill.bench.call.Callers;
import io.waybill.bench.call.FirstCalls;
import io.waybill.bench.call.HandlerTimes;
import io.waybill.bench.call.RoundTrip;
import io.waybill.bench.call.Throughput;
import io.waybill.bench.measure.FigureHistory;
import io.waybill.bench.measure.Figures;
import io.waybill.cli.command.Build;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code waybill bench}: measures this machine together with its raw limit in the same run. {@link BenchTable} lists
 * the measurements.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "bench",
        header = "Measures this machine, beside its raw limit in the same run.",
        synopsisSubcommandLabel = "COMMAND",
        description = {
            "",
            "Every measurement starts processes of its own in a temporary home. Waybill and what stands beside it take"
                    + " turns, and the figures are medians over the rounds: compare the ratios, not the times of two runs.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill bench rtt --json",
            "  waybill bench rtt --csv figures.csv --note quiet",
            "  waybill bench rtt --call raw --handler non-blocking --warm-up 20",
            "  waybill bench callers --callers 1,4,16",
            "  waybill bench throughput --in-flight 256",
            "  waybill bench tensor --sizes 1,16,256",
            "  waybill bench swap --updates 200",
            "  waybill bench lookup --messages 5000000",
            "  waybill bench retention --minutes 10"
        })
public final class BenchCommand implements Runnable {

    /** Measurement that is ready to run. */
    @FunctionalInterface
    private interface Measurement {
        Figures run(Consumer<String> progress) throws IOException;
    }

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    private BenchCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Creates the command with a subcommand for each measurement. */
    public static CommandLine line(Surroundings surroundings) {
        BenchCommand command = new BenchCommand(surroundings);
        CommandLine line = new CommandLine(command);
        for (BenchTable.Bench bench : BenchTable.all()) {
            line.addSubcommand(bench.name(), command.spec(bench));
        }
        return line;
    }

    private CommandSpec spec(BenchTable.Bench bench) {
        OptionSpec json = OptionSpec.builder("--json")
                .type(boolean.class)
                .description("Prints one JSON object.")
                .build();
        OptionSpec csv = OptionSpec.builder("--csv")
                .type(Path.class)
                .paramLabel("<file>")
                .description("Appends a line for each figure to a CSV file.")
                .build();
        OptionSpec note = OptionSpec.builder("--note")
                .type(String.class)
                .paramLabel("<text>")
                .defaultValue("")
                .description("Note in each of these lines, such as a commit.")
                .build();
        Map<String, OptionSpec> options = bench.options();
        Callable<Integer> run = () -> {
            Measurement measurement = measurement(bench.name(), new BenchValues(options));
            FigureHistory history = new FigureHistory(csv.getValue());
            history.requireUsable();
            Figures figures = measurement.run(this::progress);
            show(figures, Boolean.TRUE.equals(json.getValue()));
            history.append(occasion(bench, options, note.getValue()), figures.values());
            return 0;
        };
        CommandSpec made =
                CommandSpec.wrapWithoutInspection(run).name(bench.name()).mixinStandardHelpOptions(true);
        options.values().forEach(made::addOption);
        made.addOption(json).addOption(csv).addOption(note);
        made.usageMessage()
                .description(bench.description(), "It leaves out: " + bench.leavesOut() + ".")
                .footer("", "Example:", "  waybill bench " + bench.name() + " " + bench.defaults() + " --json");
        return made;
    }

    private Measurement measurement(String name, BenchValues given) throws UsageException, CommandFailedException {
        int calls = given.number("--calls");
        int size = given.number("--size");
        int rounds = given.odd("--rounds");
        List<Long> sizes = given.sizes();
        String waiting = given.waiting();
        return switch (name) {
            case "rtt" -> new RoundTrip(given.load(), rounds, waiting)::run;
            case "throughput" -> new Throughput(given.load(), rounds, waiting)::run;
            case "callers" -> new Callers(given.load(), given.callers(), rounds, waiting)::run;
            case "app" -> new Application(given.application(), given.callers(), rounds, waiting)::run;
            case "waits" -> new HandlerTimes(given.load(), given.micros(), rounds, waiting)::run;
            case "tensor" -> new TensorTransfer(sizes, waiting)::run;
            case "recording" ->
                new RecordingCost(sizes, given.number("--warm-up"), given.number("--seconds"), rounds, waiting)::run;
            case "swap" -> new SwapUnderLoad(given.number("--updates"), given.number("--rate"), distribution())::run;
            case "retention" ->
                new QuotaUnderLoad(
                        given.number("--minutes"), given.large("--quota") << 20, given.number("--rate"), size)::run;
            case "envelopes" -> new EnvelopeCost(calls, rounds, waiting, given.handler())::run;
            case "interceptors" -> new ExtensionCost(ExtensionCost.Kind.INTERCEPTORS, calls, rounds, waiting)::run;
            case "events" -> progress -> ExtensionCost.events(calls, rounds, waiting, progress);
            case "operator" -> new OperatorCall(calls, waiting, distribution())::run;
            case "reference" -> new ReferenceCall(calls, rounds, waiting, distribution())::run;
            case "profiling" -> new ProfilingCost(calls, rounds, waiting, distribution())::run;
            case "pairs" ->
                new Pairs(
                        given.pattern(),
                        given.even("--processes"),
                        given.number("--warm-up"),
                        given.number("--seconds"),
                        size,
                        rounds,
                        waiting)::run;
            case "python" ->
                new PythonCall(calls, given.number("--tensor"), given.number("--seconds"), rounds, distribution())::run;
            case "lookup" -> new LookupRate(given.large("--messages"), given.number("--lookups"), rounds)::run;
            case "replay" -> new ReplayRate(calls, rounds)::run;
            case "home" -> new HomeSize(given.number("--departed"), distribution())::run;
            case "first" -> new FirstCalls(given.load(), rounds, waiting)::run;
            case "idle" -> new Idle(given.number("--seconds"), given.number("--tries"), distribution())::run;
            default -> throw new IllegalStateException("no measurement " + name);
        };
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "Missing subcommand: one of "
                        + String.join(", ", spec.subcommands().keySet()));
    }

    private BenchDistribution distribution() throws CommandFailedException {
        return new BenchDistribution(surroundings.requireDistribution());
    }

    private static FigureHistory.Occasion occasion(
            BenchTable.Bench bench, Map<String, OptionSpec> options, String note) {
        StringBuilder measurement = new StringBuilder("bench " + bench.name());
        options.forEach((name, option) -> option.originalStringValues()
                .forEach(value ->
                        measurement.append(' ').append(name).append(' ').append(value)));
        return FigureHistory.Occasion.now(Build.version(), measurement.toString(), note);
    }

    private void show(Figures figures, boolean isJson) {
        if (isJson) {
            Json.print(surroundings.out(), json -> write(figures.values(), json));
        } else {
            print(figures.values());
        }
    }

    private void progress(String what) {
        if (surroundings.watcher() == Surroundings.Watcher.PERSON) {
            surroundings.err().println(what);
            surroundings.err().flush();
        }
    }

    private void print(Map<String, Object> figures) {
        Table table = new Table("FIGURE", "VALUE");
        figures.forEach((name, value) -> {
            if (value instanceof List<?> rows) {
                rows.forEach(row -> table.row("", row.toString()));
            } else {
                table.row(name, value);
            }
        });
        table.print(surroundings.out());
    }

    private static void write(Object value, JsonGenerator json) throws IOException {
        if (value instanceof Map<?, ?> figures) {
            json.writeStartObject();
            for (Map.Entry<?, ?> figure : figures.entrySet()) {
                json.writeFieldName(figure.getKey().toString());
                write(figure.getValue(), json);
            }
            json.writeEndObject();
        } else if (value instanceof List<?> rows) {
            json.writeStartArray();
            for (Object row : rows) {
                write(row, json);
            }
            json.writeEndArray();
        } else {
            json.writePOJO(value);
        }
    }
}
