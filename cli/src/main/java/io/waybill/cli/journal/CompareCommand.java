package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.host.Host;
import io.waybill.replay.slice.SliceComparison;
import io.waybill.replay.slice.SliceComparison.Difference;
import io.waybill.replay.slice.SliceComparison.Sum;
import io.waybill.replay.slice.SliceRecording;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal compare}: compares two slices, call by call. */
@Command(
        mixinStandardHelpOptions = true,
        name = "compare",
        header = "Compares two slices: which calls differ, and which only one of them has.",
        description = {
            "",
            "Calls are paired by id. Compared are type, operation, workers, error code, and the SHA-256 of payloads"
                    + " and tensors, which a slice may have in place of them; times are not. Exits with 0 when the slices"
                    + " have the same calls, with 1 when they differ.",
            ""
        },
        footer = {"", "Example:", "  waybill journal compare before.slice after.slice"})
final class CompareCommand implements Callable<Integer> {

    private static final int DIFFERENT = 1;

    @ParentCommand
    private JournalCommand journal;

    @Parameters(index = "0", paramLabel = "FIRST", description = "A slice, as waybill journal slice writes it.")
    private Path first;

    @Parameters(index = "1", paramLabel = "SECOND", description = "Another one.")
    private Path second;

    @Option(names = "--json", description = "Prints JSON, a line for each difference and one for the sum.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        Surroundings surroundings = journal.surroundings();
        PrintWriter out = surroundings.out();
        Host host = Host.real();
        try (SliceRecording one = SliceRecording.open(first, host);
                SliceRecording other = SliceRecording.open(second, host)) {
            Sum sum = SliceComparison.compare(one, other, difference -> print(difference, out));
            print(sum, out);
            if (!sum.hasContents()) {
                surroundings.err().println("Payloads and tensors were not compared: a slice was made without them.");
                surroundings.err().flush();
            }
            return sum.isSame() ? 0 : DIFFERENT;
        }
    }

    private void print(Difference difference, PrintWriter out) {
        if (json) {
            Json.printLine(out, generator -> write(difference, generator));
            return;
        }
        String text = switch (difference.relation()) {
            case DIFFERENT -> difference.text();
            case ONLY_FIRST -> "only in " + first;
            case ONLY_SECOND -> "only in " + second;
        };
        String operation = difference.operation().map(name -> " " + name).orElse("");
        out.println(Printable.oneLine(MessageId.text(difference.id()) + operation + ": " + text));
    }

    private void print(Sum sum, PrintWriter out) {
        if (json) {
            Json.printLine(out, generator -> write(sum, generator));
        } else {
            out.println(sum.same() + " calls are the same, " + sum.different() + " differ, " + sum.onlyFirst()
                    + " are only in " + first + ", " + sum.onlySecond() + " only in " + second);
        }
    }

    private static void write(Difference difference, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", MessageId.text(difference.id()));
        if (difference.operation().isPresent()) {
            json.writeStringField("operation", difference.operation().get());
        }
        json.writeStringField("relation", difference.relation().name().toLowerCase(Locale.ROOT));
        if (!difference.text().isEmpty()) {
            json.writeStringField("text", difference.text());
        }
        json.writeEndObject();
    }

    private static void write(Sum sum, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("same", sum.same());
        json.writeNumberField("different", sum.different());
        json.writeNumberField("only_first", sum.onlyFirst());
        json.writeNumberField("only_second", sum.onlySecond());
        json.writeBooleanField("has_contents", sum.hasContents());
        json.writeEndObject();
    }
}
