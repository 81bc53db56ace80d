package io.waybill.cli.journal;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.slice.Payloads;
import io.waybill.replay.slice.SliceInfo;
import io.waybill.replay.slice.SliceWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal slice}: writes calls and their dependencies as one file. */
@Command(
        mixinStandardHelpOptions = true,
        name = "slice",
        header = "Writes calls and what they depend on into one file, which can be read elsewhere.",
        description = {
            "",
            "The file has the selected calls, those that their handlers made, the requests that made the values which"
                    + " they name, the tensors as far as they were kept, and the versions of the bundles.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill journal slice --to ps0 --since 1h --out ps0.slice",
            "  waybill journal slice --id 3.1041 --payloads none --out shape.slice"
        })
final class SliceCommand implements Callable<Integer> {

    private static final int SHOWN_PROBLEMS = 10;

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private HomeOption home;

    @Mixin
    private SelectionOptions selection;

    @Mixin
    private OutcomeSelection outcomes;

    @Option(
            names = "--out",
            required = true,
            paramLabel = "FILE",
            description = "The file to write, which is not there yet.")
    private Path out;

    @Option(
            names = "--payloads",
            paramLabel = "WHAT",
            defaultValue = "full",
            description = "What goes in of payloads and tensors: full, digest for the SHA-256 of each, or none."
                    + " Default: ${DEFAULT-VALUE}.")
    private String payloads;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Payloads wanted = Payloads.named(payloads)
                .orElseThrow(() -> new UsageException("--payloads is full, digest or none, not " + payloads));
        Surroundings surroundings = journal.surroundings();
        Home existing = home.openExisting(surroundings, Host.real());
        OutFile.requireOutside(out, existing.path());
        ScanProgress watched = new ScanProgress(surroundings);
        SliceInfo info;
        try (HomeRecording recording = HomeRecording.open(existing.path(), existing.host())) {
            info = SliceWriter.write(recording, filter(existing), wanted, out, watched::records);
        } catch (FileAlreadyExistsException e) {
            throw new CommandFailedException(e.getFile() + " is there already: give another file", e);
        } finally {
            watched.done();
        }
        print(info, surroundings);
        return 0;
    }

    private MessageFilter filter(Home existing) throws IOException, UsageException, CommandFailedException {
        try (HomeJournals journals = HomeJournals.open(existing)) {
            return outcomes.addTo(selection.builder(journals, existing.host().clock()))
                    .build();
        }
    }

    private void print(SliceInfo info, Surroundings surroundings) throws IOException {
        surroundings
                .out()
                .println(out + ": " + info.calls() + " calls and " + info.needed() + " that they need, "
                        + info.storages() + " tensors beside them, " + Files.size(out) + " bytes");
        PrintWriter err = surroundings.err();
        info.problems().stream().limit(SHOWN_PROBLEMS).forEach(err::println);
        if (info.problems().size() > SHOWN_PROBLEMS) {
            err.println("and " + (info.problems().size() - SHOWN_PROBLEMS) + " more, which the slice has");
        }
        err.flush();
    }
}
