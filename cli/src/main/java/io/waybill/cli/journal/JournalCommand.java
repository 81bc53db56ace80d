package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.cli.CommandFailedException;
import io.waybill.cli.HomeOption;
import io.waybill.cli.Surroundings;
import io.waybill.cli.UsageException;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.host.Host;
import io.waybill.query.FoundMessage;
import io.waybill.query.HomeJournals;
import io.waybill.query.JournalFollower;
import io.waybill.query.QueueStats;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredEntry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code waybill journal}: looks at the messages of a home, of workers that live and of those that are gone. Writes nothing there. */
@Command(
        mixinStandardHelpOptions = true,
        name = "journal",
        header = "Looks at the messages that workers exchanged.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = VerifyCommand.class,
        footer = {
            "",
            "Examples:",
            "  waybill journal list --peer ps0 --outcome error",
            "  waybill journal show 3.1041",
            "  waybill journal tail -f",
            "  waybill journal verify"
        })
public final class JournalCommand implements Runnable {

    private static final long FOLLOW_PAUSE_NS = 100_000_000;

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    public JournalCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    Surroundings surroundings() {
        return surroundings;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing subcommand: show, list, tail, stats or verify");
    }

    /** What every subcommand takes. */
    static final class Common {
        @Mixin
        private HomeOption home;

        @Option(names = "--json", description = "Prints JSON; list and tail a line for each message.")
        private boolean json;
    }

    private HomeJournals open(Common common, Host host, Watched watched) throws IOException {
        return HomeJournals.open(common.home.openExisting(surroundings, host)).onProgress(watched::records);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "show",
            header = "Shows a message: request, response, what they carry and where they lie.",
            footer = {"", "Examples:", "  waybill journal show 3.1041", "  waybill journal show 3.1041 --json"})
    int show(
            @Mixin Common common,
            @Parameters(paramLabel = "ID", description = "The message's id, such as 3.1041.") String id,
            @Option(names = "--scan", description = "Reads every record instead of the index.") boolean scan)
            throws IOException, UsageException, CommandFailedException {
        long message = parse(id);
        Host host = Host.real();
        Watched watched = new Watched(surroundings);
        try (HomeJournals journals = open(common, host, watched)) {
            FoundMessage found =
                    journals.show(message, scan ? HomeJournals.Effort.EVERY_RECORD : HomeJournals.Effort.INDEX);
            watched.done();
            if (found.isEmpty()) {
                String notes = found.notes().isEmpty() ? "" : " (" + String.join("; ", found.notes()) + ")";
                throw new CommandFailedException("no message " + MessageId.text(message) + " in "
                        + common.home.path(surroundings) + notes
                        + (scan ? "" : "; --scan looks at every record instead of the index"));
            }
            ShownMessage shown = new ShownMessage(journals, found);
            if (common.json) {
                Json.print(surroundings.out(), shown::writeJson);
            } else {
                shown.print(surroundings.out());
            }
        }
        return 0;
    }

    private static long parse(String id) throws UsageException {
        try {
            return MessageId.parse(id).value();
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "list",
            header = "Lists calls with what became of them, the newest last.",
            footer = {
                "",
                "Examples:",
                "  waybill journal list --worker a --since 10m",
                "  waybill journal list --operation aten::* --outcome error --limit 0",
                "  waybill journal list --json | jq .id"
            })
    int list(
            @Mixin Common common,
            @Mixin Selection selection,
            @Option(
                            names = "--outcome",
                            paramLabel = "OUTCOME",
                            description = "Only with this outcome: ok, error or none.")
                    String outcome,
            @Option(
                            names = "--limit",
                            paramLabel = "N",
                            defaultValue = "50",
                            description = "Only the N newest; 0 for all. Default: ${DEFAULT-VALUE}.")
                    int limit)
            throws IOException, UsageException, CommandFailedException {
        if (limit < 0) {
            throw new UsageException("--limit must be 0 or more: " + limit);
        }
        Host host = Host.real();
        Watched watched = new Watched(surroundings);
        try (HomeJournals journals = open(common, host, watched)) {
            var filter = selection.filter(journals, host.clock(), outcomeNamed(outcome));
            CallLines lines = new CallLines(journals, surroundings.out(), common.json);
            journals.list(filter, limit, call -> {
                watched.done();
                lines.accept(call);
            });
            watched.done();
        }
        return 0;
    }

    private static Optional<StoredCall.Outcome> outcomeNamed(String name) throws UsageException {
        if (name == null) {
            return Optional.empty();
        }
        for (StoredCall.Outcome outcome : StoredCall.Outcome.values()) {
            if (outcome.name().equalsIgnoreCase(name)) {
                return Optional.of(outcome);
            }
        }
        throw new UsageException("--outcome is ok, error or none, not " + name);
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "tail",
            header = "Shows the newest records, and with -f those that come.",
            footer = {"", "Examples:", "  waybill journal tail -n 20", "  waybill journal tail -f --peer ps0"})
    int tail(
            @Mixin Common common,
            @Mixin Selection selection,
            @Option(
                            names = {"-f", "--follow"},
                            description = "Goes on until interrupted.")
                    boolean follow,
            @Option(
                            names = {"-n", "--lines"},
                            paramLabel = "N",
                            defaultValue = "10",
                            description = "How many records to begin with. Default: ${DEFAULT-VALUE}.")
                    int newest)
            throws IOException, UsageException, CommandFailedException {
        if (newest < 0) {
            throw new UsageException("--lines must be 0 or more: " + newest);
        }
        Host host = Host.real();
        Watched watched = new Watched(surroundings);
        try (HomeJournals journals = open(common, host, watched);
                JournalFollower follower =
                        journals.follow(selection.filter(journals, host.clock(), Optional.empty()))) {
            Consumer<StoredEntry> lines = new EntryLines(journals, surroundings.out(), common.json);
            follower.begin(newest, lines);
            while (follow
                    && !Thread.currentThread().isInterrupted()
                    && !surroundings.out().checkError()) {
                if (follower.poll(lines) == 0) {
                    host.threads().pause(FOLLOW_PAUSE_NS);
                }
            }
        }
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "stats",
            header = "Counts what is in each queue.",
            footer = {"", "Example:", "  waybill journal stats"})
    int stats(@Mixin Common common, @Mixin Selection selection)
            throws IOException, UsageException, CommandFailedException {
        Host host = Host.real();
        Watched watched = new Watched(surroundings);
        List<QueueStats> all = new ArrayList<>();
        try (HomeJournals journals = open(common, host, watched)) {
            journals.stats(selection.filter(journals, host.clock(), Optional.empty()), all::add);
        }
        watched.done();
        if (common.json) {
            Json.print(surroundings.out(), json -> writeStats(all, json));
            return 0;
        }
        Table table = new Table("WORKER", "QUEUE", "RECORDS", "BYTES", "ERRORS", "DAMAGED", "FIRST", "LAST", "TYPES");
        for (QueueStats stats : all) {
            boolean any = stats.records() > 0;
            table.row(
                    stats.worker().name(),
                    stats.queue().directoryName(),
                    stats.records(),
                    stats.bytes(),
                    stats.errors(),
                    stats.damages(),
                    any ? ShownTime.of(stats.firstSentNs()) : "-",
                    any ? ShownTime.of(stats.lastSentNs()) : "-",
                    stats.types().entrySet().stream()
                            .map(type -> type.getKey() + " " + type.getValue())
                            .collect(Collectors.joining(", ")));
        }
        table.print(surroundings.out());
        return 0;
    }

    private static void writeStats(List<QueueStats> all, JsonGenerator json) throws IOException {
        json.writeStartArray();
        for (QueueStats stats : all) {
            json.writeStartObject();
            json.writeNumberField("worker", stats.worker().id());
            json.writeStringField("name", stats.worker().name());
            json.writeStringField("queue", stats.queue().directoryName());
            json.writeNumberField("records", stats.records());
            json.writeNumberField("bytes", stats.bytes());
            json.writeNumberField("errors", stats.errors());
            json.writeNumberField("damages", stats.damages());
            json.writeNumberField("first_sent_ns", stats.firstSentNs());
            json.writeNumberField("last_sent_ns", stats.lastSentNs());
            json.writeObjectFieldStart("types");
            for (Map.Entry<String, Long> type : stats.types().entrySet()) {
                json.writeNumberField(type.getKey(), type.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
