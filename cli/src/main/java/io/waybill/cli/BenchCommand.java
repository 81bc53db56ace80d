package io.waybill.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.bench.Distribution;
import io.waybill.bench.Figures;
import io.waybill.bench.Idle;
import io.waybill.bench.LookupRate;
import io.waybill.bench.OperatorCall;
import io.waybill.bench.Pairs;
import io.waybill.bench.QuotaUnderLoad;
import io.waybill.bench.Recording;
import io.waybill.bench.ReferenceCall;
import io.waybill.bench.ReplayRate;
import io.waybill.bench.RoundTrip;
import io.waybill.bench.SwapUnderLoad;
import io.waybill.bench.TensorTransfer;
import io.waybill.bench.Throughput;
import io.waybill.cli.BenchOptions.Rounds;
import io.waybill.cli.BenchOptions.Shown;
import io.waybill.cli.BenchOptions.Size;
import io.waybill.cli.BenchOptions.Sizes;
import io.waybill.cli.BenchOptions.Waits;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.util.List;
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
            "  waybill bench lookup --messages 5000000",
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
                "Missing subcommand: rtt, throughput, tensor, recording, swap, retention, operator, reference, pairs,"
                        + " lookup, replay or idle");
    }

    /** One measurement. */
    @FunctionalInterface
    private interface Measurement {
        Figures run(Consumer<String> progress) throws IOException;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "rtt",
            description = "Times blocking calls that echo their payload, and a raw Chronicle ping-pong.",
            footer = {"", "Example:", "  waybill bench rtt --size 64 --waiting spin --json"})
    int rtt(
            @Mixin Shown shown,
            @Mixin Size size,
            @Option(names = "--calls", defaultValue = "500000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Mixin Rounds rounds,
            @Mixin Waits waits)
            throws IOException, UsageException {
        return measure(shown, new RoundTrip(size.bytes(), calls, rounds.odd(), waits.orElse(Waiting.SPIN))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "throughput",
            description = "Counts calls per second with many in flight, and raw echoes with as many in flight.",
            footer = {"", "Example:", "  waybill bench throughput --in-flight 256 --json"})
    int throughput(
            @Mixin Shown shown,
            @Mixin Size size,
            @Option(names = "--calls", defaultValue = "2000000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Option(names = "--in-flight", defaultValue = "256", description = "Calls in flight; ${DEFAULT-VALUE}.")
                    int inFlight,
            @Mixin Rounds rounds,
            @Mixin Waits waits)
            throws IOException, UsageException {
        return measure(
                shown, new Throughput(size.bytes(), calls, inFlight, rounds.odd(), waits.orElse(Waiting.SPIN))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "tensor",
            description =
                    "Times tensors one way, copied and allocated in a segment, and a copy of as many bytes in memory.",
            footer = {"", "Example:", "  waybill bench tensor --sizes 1,16,256 --json"})
    int tensor(@Mixin Shown shown, @Mixin Sizes sizes, @Mixin Waits waits) throws IOException, UsageException {
        return measure(shown, new TensorTransfer(sizes.bytes(), waits.orElse(Waiting.SPIN))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "recording",
            description = "Compares round trips, throughput and tensors with and without an archive of all tensors.",
            footer = {"", "Example:", "  waybill bench recording --sizes 1,16 --json"})
    int recording(
            @Mixin Shown shown,
            @Mixin Sizes sizes,
            @Option(names = "--calls", defaultValue = "300000", description = "Calls a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Mixin Rounds rounds,
            @Mixin Waits waits)
            throws IOException, UsageException {
        return measure(shown, new Recording(sizes.bytes(), calls, rounds.odd(), waits.orElse(Waiting.SPIN))::run);
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
            @Mixin Size size)
            throws IOException {
        return measure(shown, new QuotaUnderLoad(minutes, quota << 20, rate, size.bytes())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "operator",
            description = "Times blocking calls of aten::add on one element, answered by libtorch in a node.",
            footer = {"", "Example:", "  waybill bench operator --json"})
    int operator(
            @Mixin Shown shown,
            @Option(names = "--calls", defaultValue = "100000", description = "Calls; ${DEFAULT-VALUE}.") int calls,
            @Mixin Waits waits)
            throws IOException, UsageException, CommandFailedException {
        return measure(shown, new OperatorCall(calls, waits.orElse(Waiting.BALANCED), distribution())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "reference",
            description = "Times remote, toHere and release of aten::add on one element, and blocking calls of it.",
            footer = {"", "Example:", "  waybill bench reference --json"})
    int reference(
            @Mixin Shown shown,
            @Option(names = "--calls", defaultValue = "20000", description = "References a round; ${DEFAULT-VALUE}.")
                    int calls,
            @Mixin Rounds rounds,
            @Mixin Waits waits)
            throws IOException, UsageException, CommandFailedException {
        return measure(
                shown, new ReferenceCall(calls, rounds.odd(), waits.orElse(Waiting.BALANCED), distribution())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "pairs",
            description = "Has many processes call in pairs, all at once, and one such pair alone.",
            footer = {"", "Example:", "  waybill bench pairs --processes 16 --json"})
    int pairs(
            @Mixin Shown shown,
            @Option(names = "--processes", defaultValue = "16", description = "Processes, even; ${DEFAULT-VALUE}.")
                    int processes,
            @Option(names = "--seconds", defaultValue = "5", description = "Seconds a round; ${DEFAULT-VALUE}.")
                    int seconds,
            @Mixin Size size,
            @Mixin Rounds rounds,
            @Mixin Waits waits)
            throws IOException, UsageException {
        if (processes < 2 || processes % 2 != 0) {
            throw new UsageException("--processes must be even, so that each has a partner: " + processes);
        }
        return measure(
                shown, new Pairs(processes, seconds, size.bytes(), rounds.odd(), waits.orElse(Waiting.BALANCED))::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "lookup",
            description = "Times lookups of messages by their ids in full journals, and reads of as many bytes.",
            footer = {"", "Example:", "  waybill bench lookup --messages 5000000 --json"})
    int lookup(
            @Mixin Shown shown,
            @Option(
                            names = "--messages",
                            defaultValue = "5000000",
                            description = "Messages in the journals; ${DEFAULT-VALUE}.")
                    long messages,
            @Option(names = "--lookups", defaultValue = "100000", description = "Lookups a round; ${DEFAULT-VALUE}.")
                    int lookups,
            @Mixin Rounds rounds)
            throws IOException, UsageException {
        return measure(shown, new LookupRate(messages, lookups, rounds.odd())::run);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "replay",
            description = "Replays recorded calls of mixed types, and runs their handlers alone on the same calls.",
            footer = {"", "Example:", "  waybill bench replay --calls 1000000 --rounds 9 --json"})
    int replay(
            @Mixin Shown shown,
            @Option(names = "--calls", defaultValue = "1000000", description = "Calls; ${DEFAULT-VALUE}.") int calls,
            @Mixin Rounds rounds)
            throws IOException, UsageException {
        return measure(shown, new ReplayRate(calls, rounds.odd())::run);
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
        if (shown.asJson()) {
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
}
