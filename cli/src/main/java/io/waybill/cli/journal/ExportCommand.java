package io.waybill.cli.journal;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.cli.select.SourceOptions;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal export}: writes calls as files for other programs. */
@Command(
        mixinStandardHelpOptions = true,
        name = "export",
        header = "Writes calls as JSON Lines, and their tensors as .npy files.",
        description = {
            "",
            "DIR gets calls.jsonl with a line for each call, the oldest first, and tensors/. Tensors of types that"
                    + " NumPy does not have are written without a header.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill journal export --since 1h --out calls",
            "  waybill journal export --id 3.1000..3.1999 --outcome error --out failed"
        })
final class ExportCommand implements Callable<Integer> {

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private SourceOptions source;

    @Mixin
    private SelectionOptions selection;

    @Mixin
    private OutcomeSelection outcomes;

    @Option(
            names = "--out",
            required = true,
            paramLabel = "DIR",
            description = "The directory to write into; it is made, or must be empty.")
    private Path directory;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Surroundings surroundings = journal.surroundings();
        Host host = Host.real();
        ScanProgress watched = new ScanProgress(surroundings);
        try (StoredMessages journals = source.open(surroundings, host, watched)) {
            MessageFilter filter =
                    outcomes.addTo(selection.builder(journals, host.clock())).build();
            try (Export export = Export.into(directory, journals)) {
                journals.list(filter, 0, export::add);
                watched.done();
                surroundings.out().println(export.summary());
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } finally {
            watched.done();
        }
        return 0;
    }
}
