package io.waybill.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.bench.Distribution;
import io.waybill.bench.Figures;
import io.waybill.bench.Idle;
import io.waybill.bench.OperatorCall;
import io.waybill.bench.QuotaUnderLoad;
import io.waybill.bench.Recording;
import io.waybill.bench.RoundTrip;
import io.waybill.bench.SwapUnderLoad;
import io.waybill.bench.TensorTransfer;
import io.waybill.bench.Throughput;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.worker.Waiting;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code waybill bench}: measures this machine, beside its raw limit in the same run. */
@Command(
        mixinStandardHelpOptions = true,
        name = "bench",
        header = "Measures this machine, beside its raw limit in the same run.",
        synopsisSubcommandLabel = "COMMAND",
        description = {
            "",
            "Every measurement starts processes of its own in a temporary home. Raw Chronicle queues and Waybill take turns, and"
                    + " the figures are medians over the rounds: compare the ratios, not the times of two runs.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill bench rtt --json",
            "  waybill bench throughput --in-flight 256",
            "  waybill bench tensor --sizes 1,16,256",
            "  waybill bench swap --updates 200",
            "  waybill bench retention --minutes 10"
        })
final class BenchCommand implements Runnable {

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    BenchCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "Missing subcommand: rtt, throughput, tensor, recording, swap, retention, operator or idle");
    }

    /** One measurement. */
    @FunctionalInterface
    private interface Measurement {
        Figures run(Consumer<String> progress) throws IOException;
    }

    /** Options of every measurement. */
    static final class Shown {
        @Option(names = "--json", description = "Prints one JSON object.")
        private boolean json;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "rtt",
            description = "Times blocking calls that echo their payload, and a raw Chronicle ping-pong.",
            footer = {"", "Example:", "  waybill bench rtt --size 64 --waiting spin --json"})
    int rtt(
            @Mixin Shown shown,
            @Option(names = "--size", defaultValue = "64", description = "Bytes of the payload; ${DEFAULT-VALUE}.")
                    int size,
            @Option(names = "--calls", defaultValue = "500000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Option(names = "--rounds", defaultValue = "3", description = "Rounds, odd; ${DEFAULT-VALUE}.") int rounds,
            @Option(
                            names = "--waiting",
                            defaultValue = "spin",
                            description = "spin, balanced or low-cpu; ${DEFAULT-VALUE}.")
                    String waiting)
            throws IOException, UsageException {
        return measure(shown, new RoundTrip(size, calls, odd(rounds), waiting(waiting))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "throughput",
            description = "Counts calls per second with many in flight, and raw echoes with as many in flight.",
            footer = {"", "Example:", "  waybill bench throughput --in-flight 256 --json"})
    int throughput(
            @Mixin Shown shown,
            @Option(names = "--size", defaultValue = "64", description = "Bytes of the payload; ${DEFAULT-VALUE}.")
                    int size,
            @Option(names = "--calls", defaultValue = "2000000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Option(names = "--in-flight", defaultValue = "256", description = "Calls in flight; ${DEFAULT-VALUE}.")
                    int inFlight,
            @Option(names = "--rounds", defaultValue = "3", description = "Rounds, odd; ${DEFAULT-VALUE}.") int rounds,
            @Option(
                            names = "--waiting",
                            defaultValue = "spin",
                            description = "spin, balanced or low-cpu; ${DEFAULT-VALUE}.")
                    String waiting)
            throws IOException, UsageException {
        return measure(shown, new Throughput(size, calls, inFlight, odd(rounds), waiting(waiting))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "tensor",
            description =
                    "Times tensors one way, copied and allocated in a segment, and a copy of as many bytes in memory.",
            footer = {"", "Example:", "  waybill bench tensor --sizes 1,16,256 --json"})
    int tensor(
            @Mixin Shown shown,
            @Option(
                            names = "--sizes",
                            split = ",",
                            defaultValue = "1,16,256",
                            description = "MiB of the tensors; ${DEFAULT-VALUE}.")
                    List<Long> sizes,
            @Option(
                            names = "--waiting",
                            defaultValue = "spin",
                            description = "spin, balanced or low-cpu; ${DEFAULT-VALUE}.")
                    String waiting)
            throws IOException, UsageException {
        List<Long> bytes = sizes.stream().map(mebibytes -> mebibytes << 20).toList();
        return measure(shown, new TensorTransfer(bytes, waiting(waiting))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "recording",
            description = "Compares round trips, throughput and tensors with and without an archive of all tensors.",
            footer = {"", "Example:", "  waybill bench recording --sizes 1,16 --json"})
    int recording(
            @Mixin Shown shown,
            @Option(
                            names = "--sizes",
                            split = ",",
                            defaultValue = "1,16,256",
                            description = "MiB of the tensors; ${DEFAULT-VALUE}.")
                    List<Long> sizes,
            @Option(names = "--calls", defaultValue = "300000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Option(names = "--rounds", defaultValue = "3", description = "Rounds, odd; ${DEFAULT-VALUE}.") int rounds,
            @Option(
                            names = "--waiting",
                            defaultValue = "spin",
                            description = "spin, balanced or low-cpu; ${DEFAULT-VALUE}.")
                    String waiting)
            throws IOException, UsageException {
        List<Long> bytes = sizes.stream().map(mebibytes -> mebibytes << 20).toList();
        return measure(shown, new Recording(bytes, calls, odd(rounds), waiting(waiting))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "swap",
            description = "Upgrades a handler bundle again and again while it is called, and counts what went wrong.",
            footer = {"", "Example:", "  waybill bench swap --updates 200 --rate 22000 --json"})
    int swap(
            @Mixin Shown shown,
            @Option(names = "--updates", defaultValue = "200", description = "Upgrades; ${DEFAULT-VALUE}.") int updates,
            @Option(names = "--rate", defaultValue = "22000", description = "Calls begun per second; ${DEFAULT-VALUE}.")
                    int rate)
            throws IOException, CommandFailedException {
        return measure(shown, new SwapUnderLoad(updates, rate, distribution())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "retention",
            description =
                    "Calls at a steady rate while the journals are kept below a quota, and looks for readers that are"
                            + " stuck and files that are held open.",
            footer = {"", "Example:", "  waybill bench retention --minutes 60 --quota 2048 --rate 20000 --json"})
    int retention(
            @Mixin Shown shown,
            @Option(names = "--minutes", defaultValue = "10", description = "Minutes of load; ${DEFAULT-VALUE}.")
                    int minutes,
            @Option(
                            names = "--quota",
                            defaultValue = "2048",
                            description = "MiB that the journal of each worker may take; ${DEFAULT-VALUE}.")
                    long quota,
            @Option(names = "--rate", defaultValue = "20000", description = "Calls begun per second; ${DEFAULT-VALUE}.")
                    int rate,
            @Option(names = "--size", defaultValue = "64", description = "Bytes of the payload; ${DEFAULT-VALUE}.")
                    int size)
            throws IOException {
        return measure(shown, new QuotaUnderLoad(minutes, quota << 20, rate, size)::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "operator",
            description = "Times blocking calls of aten::add on one element, answered by libtorch in a node.",
            footer = {"", "Example:", "  waybill bench operator --json"})
    int operator(
            @Mixin Shown shown,
            @Option(names = "--calls", defaultValue = "100000", description = "Calls; ${DEFAULT-VALUE}.") int calls,
            @Option(
                            names = "--waiting",
                            defaultValue = "balanced",
                            description = "How the caller waits: spin, balanced or low-cpu; ${DEFAULT-VALUE}.")
                    String waiting)
            throws IOException, UsageException, CommandFailedException {
        return measure(shown, new OperatorCall(calls, waiting(waiting), distribution())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "idle",
            description = "Takes what an idle node uses of a core, and times the first call after a rest.",
            footer = {"", "Example:", "  waybill bench idle --seconds 10 --json"})
    int idle(
            @Mixin Shown shown,
            @Option(names = "--seconds", defaultValue = "10", description = "Seconds of rest; ${DEFAULT-VALUE}.")
                    int seconds,
            @Option(names = "--tries", defaultValue = "100", description = "Calls after a rest; ${DEFAULT-VALUE}.")
                    int tries)
            throws IOException, CommandFailedException {
        return measure(shown, new Idle(seconds, tries, distribution())::run);
    }

    private Distribution distribution() throws CommandFailedException {
        return new Distribution(surroundings.requireDistribution());
    }

    private int measure(Shown shown, Measurement measurement) throws IOException {
        Figures figures = measurement.run(this::progress);
        if (shown.json) {
            Json.print(surroundings.out(), json -> write(figures.values(), json));
        } else {
            print(figures.values());
        }
        return 0;
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

    private static void write(Map<?, ?> figures, JsonGenerator json) throws IOException {
        json.writeStartObject();
        for (Map.Entry<?, ?> figure : figures.entrySet()) {
            json.writeFieldName(figure.getKey().toString());
            Object value = figure.getValue();
            if (value instanceof Long number) {
                json.writeNumber(number);
            } else if (value instanceof Double number) {
                json.writeNumber(number);
            } else if (value instanceof List<?> rows) {
                json.writeStartArray();
                for (Object row : rows) {
                    write((Map<?, ?>) row, json);
                }
                json.writeEndArray();
            } else {
                json.writeString(value.toString());
            }
        }
        json.writeEndObject();
    }

    private static int odd(int rounds) throws UsageException {
        if (rounds < 1 || rounds % 2 == 0) {
            throw new UsageException("--rounds must be odd, so that there is a median: " + rounds);
        }
        return rounds;
    }

    private static String waiting(String text) throws UsageException {
        for (Waiting waiting : Waiting.values()) {
            if (waiting.name().replace('_', '-').toLowerCase(Locale.ROOT).equals(text)) {
                return waiting.name();
            }
        }
        throw new UsageException("--waiting must be spin, balanced or low-cpu: " + text);
    }
}
