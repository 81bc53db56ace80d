package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.SourceOptions;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.host.Host;
import io.waybill.query.StoredMessages;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Verification;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal verify}: reports damage in a home. Never writes to the home. */
@Command(
        mixinStandardHelpOptions = true,
        name = "verify",
        header = "Reads every record of every journal, and says what is damaged, missing or misplaced.",
        description = {"", "Exits with 0 when nothing that was written is damaged, with 1 when something is.", ""},
        footer = {"", "Examples:", "  waybill journal verify", "  waybill journal verify --slice ps0.slice"})
final class VerifyCommand implements Callable<Integer> {

    private static final int DAMAGED = 1;

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private SourceOptions source;

    @Option(names = "--json", description = "Prints JSON, a line for each finding and one for the sum.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Surroundings surroundings = journal.surroundings();
        PrintWriter out = surroundings.out();
        ScanProgress watched = new ScanProgress(surroundings);
        Verification verification;
        try (StoredMessages journals = source.openDamaged(surroundings, Host.real(), watched)) {
            verification = journals.verify(finding -> {
                watched.done();
                print(finding, out);
            });
        }
        watched.done();
        print(verification, out);
        return verification.isWhole() ? 0 : DAMAGED;
    }

    private void print(Finding finding, PrintWriter out) {
        if (json) {
            Json.printLine(out, generator -> write(finding, generator));
        } else {
            out.println(text(finding));
        }
    }

    private void print(Verification verification, PrintWriter out) {
        if (json) {
            Json.printLine(out, generator -> write(verification, generator));
        } else {
            out.printf(
                    Locale.ROOT,
                    "%d records in %d journals: %s, %d requests without a response%n",
                    verification.records(),
                    verification.journals(),
                    verification.isWhole() ? "no damage" : verification.damages() + " damages",
                    verification.unanswered());
        }
    }

    static String text(Finding finding) {
        String where = finding.worker()
                        .map(info -> info.id() + "-" + info.name())
                        .orElse(finding.kind() == Finding.Kind.NOT_INCLUDED ? "slice" : "home")
                + finding.queue().map(queue -> " " + queue.directoryName()).orElse("")
                + finding.file().map(file -> " " + file.getFileName()).orElse("");
        String range = finding.to() > finding.from()
                ? ":" + finding.from() + ".." + finding.to()
                : finding.file().isPresent() ? ":" + finding.from() : "";
        return Printable.oneLine(
                finding.severity().name().toLowerCase(Locale.ROOT) + ": " + where + range + ": " + finding.text());
    }

    static void write(Finding finding, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("severity", finding.severity().name().toLowerCase(Locale.ROOT));
        json.writeStringField("kind", finding.kind().name().toLowerCase(Locale.ROOT));
        if (finding.worker().isPresent()) {
            json.writeNumberField("worker", finding.worker().get().id());
            json.writeStringField("name", finding.worker().get().name());
        }
        if (finding.queue().isPresent()) {
            json.writeStringField("queue", finding.queue().get().directoryName());
        }
        if (finding.file().isPresent()) {
            json.writeStringField("file", finding.file().get().toString());
            json.writeNumberField("from", finding.from());
            json.writeNumberField("to", finding.to());
        }
        json.writeStringField("text", finding.text());
        json.writeEndObject();
    }

    private static void write(Verification verification, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeBooleanField("whole", verification.isWhole());
        json.writeNumberField("journals", verification.journals());
        json.writeNumberField("records", verification.records());
        json.writeNumberField("damages", verification.damages());
        json.writeNumberField("unanswered", verification.unanswered());
        json.writeEndObject();
    }
}
