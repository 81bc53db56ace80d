package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.WorkerInfo;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.verify.LostRecords;
import io.waybill.salvage.Salvage;
import io.waybill.salvage.SalvageReport;
import io.waybill.salvage.SalvagedQueue;
import io.waybill.salvage.SalvagedWorker;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.LongAdder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal salvage}: copies everything readable in a home to a new one. Never writes to the old one. */
@Command(
        mixinStandardHelpOptions = true,
        name = "salvage",
        header = "Copies all that can be read in a damaged home into a new one.",
        description = {"", "Exits with 0 when the new home is there, whatever was lost: the report says what.", ""},
        footer = {
            "",
            "Examples:",
            "  waybill journal salvage --home damaged --out new",
            "  waybill journal salvage --out new --worker ps0 --json"
        })
final class SalvageCommand implements Callable<Integer> {

    private static final int SHOWN_GAPS = 20;

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private HomeOption home;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            required = true,
            description = "Where the new home shall lie: an empty directory, or nothing yet.")
    private Path out;

    @Option(names = "--worker", paramLabel = "NAME", description = "Only this worker. A name or an id.")
    private String worker;

    @Option(names = "--json", description = "Prints one JSON document.")
    private boolean json;

    @Override
    public Integer call() throws IOException, CommandFailedException {
        Surroundings surroundings = journal.surroundings();
        ScanProgress watched = new ScanProgress(surroundings);
        Home damaged = home.openDamaged(surroundings, Host.real());
        Optional<WorkerInfo> only = worker == null ? Optional.empty() : Optional.of(find(damaged));
        SalvageReport report = new Salvage(damaged, out, watched::records).run(only);
        long missed = report.isWhole() ? missed(damaged, only) : 0;
        watched.done();
        if (json) {
            Json.print(surroundings.out(), generator -> write(report, missed, generator));
        } else {
            print(report, missed, surroundings.out());
        }
        return 0;
    }

    /** Counts losses of the damaged home in addition to unreadable records, such as whole files. */
    private static long missed(Home damaged, Optional<WorkerInfo> only) throws IOException {
        LongAdder missed = new LongAdder();
        try (HomeJournals journals = HomeJournals.open(damaged)) {
            journals.verify(finding -> {
                boolean counts = finding.isDamage() && (only.isEmpty() || only.equals(finding.worker()));
                missed.add(counts ? 1 : 0);
            });
        }
        return missed.sum();
    }

    private WorkerInfo find(Home damaged) throws IOException, CommandFailedException {
        try (HomeJournals journals = HomeJournals.open(damaged)) {
            return journals.worker(worker)
                    .orElseThrow(() -> new CommandFailedException("no worker " + worker + " has a journal in "
                            + damaged.path() + ": waybill workers --all lists those that do"));
        }
    }

    private void print(SalvageReport report, long missed, PrintWriter out) {
        report.problems().forEach(problem -> out.println("home: " + Printable.oneLine(problem)));
        for (SalvagedWorker salvaged : report.workers()) {
            String name = salvaged.info().id() + "-" + salvaged.info().name();
            for (SalvagedQueue queue : salvaged.queues()) {
                out.println(name + " " + text(queue));
            }
            out.printf(
                    Locale.ROOT,
                    "%s: epoch %d, the places of %d peers, %d other files%n",
                    name,
                    salvaged.epoch(),
                    salvaged.positions(),
                    salvaged.files());
            salvaged.problems().forEach(problem -> out.println(name + ": " + Printable.oneLine(problem)));
        }
        out.printf(Locale.ROOT, "%d workers are in %s%s%n", report.workers().size(), this.out, outcome(report, missed));
    }

    private static String outcome(SalvageReport report, long missed) {
        if (!report.isWhole()) {
            return "; what is missing is said above";
        }
        return missed == 0
                ? ", whole"
                : ", all that was there; the damaged home lacks more, in " + missed
                        + " places: waybill journal verify names them";
    }

    private static String text(SalvagedQueue queue) {
        StringBuilder text = new StringBuilder(
                queue.queue().directoryName() + ": " + queue.records() + " records, " + queue.bytes() + " bytes");
        if (queue.lost() > 0) {
            text.append("; ").append(queue.lost()).append(" lost:");
            List<LostRecords.Range> gaps = queue.gaps();
            gaps.stream()
                    .limit(SHOWN_GAPS)
                    .forEach(gap -> text.append(' ')
                            .append(gap.first())
                            .append(gap.last() > gap.first() ? ".." + gap.last() : ""));
            text.append(gaps.size() > SHOWN_GAPS ? " …" : "");
        }
        if (queue.strangers() > 0) {
            text.append("; ").append(queue.strangers()).append(" that don't belong there");
        }
        return text.toString();
    }

    private void write(SalvageReport report, long missed, JsonGenerator generator) throws IOException {
        generator.writeStartObject();
        generator.writeStringField("home", out.toString());
        generator.writeBooleanField("whole", report.isWhole() && missed == 0);
        generator.writeNumberField("missed", missed);
        writeTexts("problems", report.problems(), generator);
        generator.writeArrayFieldStart("workers");
        for (SalvagedWorker salvaged : report.workers()) {
            generator.writeStartObject();
            generator.writeNumberField("worker", salvaged.info().id());
            generator.writeStringField("name", salvaged.info().name());
            generator.writeNumberField("generation", salvaged.epoch());
            generator.writeNumberField("positions", salvaged.positions());
            generator.writeNumberField("files", salvaged.files());
            writeTexts("problems", salvaged.problems(), generator);
            generator.writeArrayFieldStart("queues");
            for (SalvagedQueue queue : salvaged.queues()) {
                write(queue, generator);
            }
            generator.writeEndArray();
            generator.writeEndObject();
        }
        generator.writeEndArray();
        generator.writeEndObject();
    }

    private static void write(SalvagedQueue queue, JsonGenerator generator) throws IOException {
        generator.writeStartObject();
        generator.writeStringField("queue", queue.queue().directoryName());
        generator.writeNumberField("records", queue.records());
        generator.writeNumberField("bytes", queue.bytes());
        generator.writeNumberField("lost", queue.lost());
        generator.writeNumberField("damages", queue.damages());
        generator.writeNumberField("strangers", queue.strangers());
        generator.writeArrayFieldStart("gaps");
        for (LostRecords.Range gap : queue.gaps()) {
            generator.writeStartObject();
            generator.writeNumberField("first", gap.first());
            generator.writeNumberField("last", gap.last());
            generator.writeEndObject();
        }
        generator.writeEndArray();
        generator.writeEndObject();
    }

    private static void writeTexts(String field, List<String> texts, JsonGenerator generator) throws IOException {
        generator.writeArrayFieldStart(field);
        for (String text : texts) {
            generator.writeString(text);
        }
        generator.writeEndArray();
    }
}
