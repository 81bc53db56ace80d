package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.MessageIds;
import io.waybill.cli.select.SourceOptions;
import io.waybill.cli.trace.TimelinePage;
import io.waybill.cli.trace.TraceEvents;
import io.waybill.host.Host;
import io.waybill.query.CallTree;
import io.waybill.query.FoundMessage;
import io.waybill.query.StoredMessages;
import io.waybill.query.timeline.CallTimeline;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal trace}: draws a recorded call with all related calls. */
@Command(
        mixinStandardHelpOptions = true,
        name = "trace",
        header = "Draws a recorded call over time, on all workers.",
        description = {
            "",
            "The file shows the outermost call that led to this one, and every call inside of it. FILE.html is a page for"
                    + " a browser, without anything from a network; FILE.json is for Perfetto and chrome://tracing.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill journal trace 3.1041 --out call.html",
            "  waybill journal trace 3.1041 --out call.json"
        })
final class TraceCommand implements Callable<Integer> {

    private static final String PAGE = ".html";
    private static final String EVENTS = ".json";

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private SourceOptions source;

    @Parameters(paramLabel = "ID", description = "The id of a request, such as 3.1041.")
    private String id;

    @Option(
            names = "--out",
            required = true,
            paramLabel = "FILE",
            description = "The file to write, which is not there yet: .html or .json.")
    private Path out;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        long message = MessageIds.parse(id);
        boolean isPage = out.toString().endsWith(PAGE);
        if (!isPage && !out.toString().endsWith(EVENTS)) {
            throw new UsageException("--out ends with " + PAGE + " or " + EVENTS + ", and " + out + " does not");
        }
        Surroundings surroundings = journal.surroundings();
        ScanProgress watched = new ScanProgress(surroundings);
        try (StoredMessages journals = source.open(surroundings, Host.real(), watched)) {
            OutFile.requireOutside(out, source.path(surroundings).toRealPath());
            FoundMessage found = outermost(journals, message);
            watched.done();
            CallTree tree = new CallTree(found.call().orElseThrow(), found.children());
            write(journals, CallTimeline.of(tree), isPage);
            found.notes().forEach(surroundings.err()::println);
            surroundings.err().flush();
            surroundings
                    .out()
                    .println(out + ": call " + MessageId.text(found.id()) + " and " + count(tree) + " inside of it");
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailedException(e.getFile() + " is there already: give another file", e);
        } finally {
            watched.done();
        }
        return 0;
    }

    private FoundMessage outermost(StoredMessages journals, long message) throws IOException, CommandFailedException {
        FoundMessage found = journals.show(message, StoredMessages.Effort.INDEX);
        if (found.call().isEmpty()) {
            String notes = found.notes().isEmpty() ? "" : " (" + String.join("; ", found.notes()) + ")";
            throw new CommandFailedException("no request " + MessageId.text(message) + " in the journals" + notes);
        }
        return found.ancestors().isEmpty()
                ? found
                : journals.show(found.ancestors().get(0).request().id(), StoredMessages.Effort.INDEX);
    }

    private void write(StoredMessages journals, CallTimeline timeline, boolean isPage) throws IOException {
        try (Writer writer = Files.newBufferedWriter(out, StandardCharsets.UTF_8, StandardOpenOption.CREATE_NEW)) {
            if (isPage) {
                new TimelinePage(journals::nameOf, timeline).writeTo(writer);
            } else {
                new TraceEvents(journals::nameOf, timeline).writeTo(writer);
            }
        }
    }

    private static int count(CallTree tree) {
        return tree.children().stream().mapToInt(child -> 1 + count(child)).sum();
    }
}
