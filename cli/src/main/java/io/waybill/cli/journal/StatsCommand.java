package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.QueueStats;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal stats}: prints figures, one line for each queue. */
@Command(
        mixinStandardHelpOptions = true,
        name = "stats",
        header = "Counts what is in each queue.",
        footer = {"", "Example:", "  waybill journal stats"})
final class StatsCommand implements Callable<Integer> {

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private HomeOption home;

    @Mixin
    private SelectionOptions selection;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Surroundings surroundings = journal.surroundings();
        Host host = Host.real();
        List<QueueStats> all = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(home.openExisting(surroundings, host))) {
            journals.stats(selection.builder(journals, host.clock()).build(), all::add);
        }
        if (json) {
            Json.print(surroundings.out(), content -> write(all, content));
        } else {
            print(all, surroundings.out());
        }
        return 0;
    }

    private static void print(List<QueueStats> all, PrintWriter out) {
        Table table = new Table(
                "WORKER", "QUEUE", "RECORDS", "BYTES", "FILES", "DISK", "ERRORS", "DAMAGED", "FIRST", "LAST", "TYPES");
        for (QueueStats stats : all) {
            boolean any = stats.records() > 0;
            table.row(
                    stats.worker().name(),
                    stats.queue().directoryName(),
                    stats.records(),
                    stats.bytes(),
                    stats.files(),
                    stats.diskBytes(),
                    stats.errors(),
                    stats.damages(),
                    any ? ShownTime.of(stats.firstSentNs()) : "-",
                    any ? ShownTime.of(stats.lastSentNs()) : "-",
                    stats.types().entrySet().stream()
                            .map(type -> type.getKey() + " " + type.getValue())
                            .collect(Collectors.joining(", ")));
        }
        table.print(out);
    }

    private static void write(List<QueueStats> all, JsonGenerator json) throws IOException {
        json.writeStartArray();
        for (QueueStats stats : all) {
            json.writeStartObject();
            json.writeNumberField("worker", stats.worker().id());
            json.writeStringField("name", stats.worker().name());
            json.writeStringField("queue", stats.queue().directoryName());
            json.writeNumberField("records", stats.records());
            json.writeNumberField("bytes", stats.bytes());
            json.writeNumberField("files", stats.files());
            json.writeNumberField("disk_bytes", stats.diskBytes());
            json.writeNumberField("errors", stats.errors());
            json.writeNumberField("damages", stats.damages());
            if (stats.records() > 0) {
                json.writeStringField("first_sent", ShownTime.utc(stats.firstSentNs()));
                json.writeStringField("last_sent", ShownTime.utc(stats.lastSentNs()));
            }
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
