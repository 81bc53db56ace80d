package io.waybill.cli.journal;

import io.waybill.api.MessageId;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.MessageIds;
import io.waybill.cli.select.SourceOptions;
import io.waybill.cli.show.Json;
import io.waybill.host.Host;
import io.waybill.query.FoundMessage;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal show}: shows all records of one message. */
@Command(
        mixinStandardHelpOptions = true,
        name = "show",
        header = "Shows a message: request, response, what they carry and where they lie.",
        footer = {"", "Examples:", "  waybill journal show 3.1041", "  waybill journal show 3.1041 --json"})
final class ShowCommand implements Callable<Integer> {

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private SourceOptions source;

    @Parameters(paramLabel = "ID", description = "The message's id, such as 3.1041.")
    private String id;

    @Option(names = "--scan", description = "Reads every record instead of the index.")
    private boolean scan;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        long message = MessageIds.parse(id);
        Surroundings surroundings = journal.surroundings();
        ScanProgress watched = new ScanProgress(surroundings);
        try (StoredMessages journals = source.open(surroundings, Host.real(), watched)) {
            FoundMessage found =
                    journals.show(message, scan ? StoredMessages.Effort.EVERY_RECORD : StoredMessages.Effort.INDEX);
            watched.done();
            if (found.isEmpty()) {
                String notes = found.notes().isEmpty() ? "" : " (" + String.join("; ", found.notes()) + ")";
                throw new CommandFailedException("no message " + MessageId.text(message) + " in "
                        + source.path(surroundings) + notes
                        + (scan || source.isSlice() ? "" : "; --scan looks at every record instead of the index"));
            }
            ShownMessage shown = new ShownMessage(journals, found);
            if (json) {
                Json.print(surroundings.out(), shown::writeJson);
            } else {
                shown.print(surroundings.out());
            }
        }
        return 0;
    }
}
