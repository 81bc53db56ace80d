package io.waybill.cli.dead;

import io.waybill.api.MessageId;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.journal.ShownMessage;
import io.waybill.cli.select.MessageIds;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.host.Host;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill dead show}: shows a failed call, and what was sent again of it. */
@Command(
        mixinStandardHelpOptions = true,
        name = "show",
        header = "Shows a failed call: request, error, who served it, and what was sent again.",
        footer = {"", "Examples:", "  waybill dead show 3.1041", "  waybill dead show 3.1041 --json"})
final class ShowDeadCommand implements Callable<Integer> {

    @ParentCommand
    private DeadCommand dead;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "ID", description = "The id of a failed call, such as 3.1041.")
    private String id;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        long message = MessageIds.parse(id);
        Surroundings surroundings = dead.surroundings();
        ScanProgress watched = new ScanProgress(surroundings);
        try (Shelf shelf = Shelf.open(home.openExisting(surroundings, Host.real()), watched)) {
            DeadCall found = shelf.failed(message);
            ShownMessage shown =
                    new ShownMessage(shelf.journals(), shelf.journals().show(message, StoredMessages.Effort.INDEX));
            watched.done();
            if (json) {
                Json.print(surroundings.out(), content -> {
                    content.writeStartObject();
                    shown.fields(content);
                    found.repeatFields(content);
                    content.writeEndObject();
                });
            } else {
                shown.print(surroundings.out());
                printRepeats(found, surroundings.out());
            }
        }
        return 0;
    }

    private static void printRepeats(DeadCall found, PrintWriter out) {
        out.println("attempt   " + found.attempt()
                + found.repeated().map(of -> ", repeats " + MessageId.text(of)).orElse(""));
        if (found.repeats().isEmpty()) {
            out.println("sent again no");
        }
        for (StoredCall repeat : found.repeats()) {
            out.println("sent again as " + Printable.oneLine(DeadCall.text(repeat)) + ", "
                    + ShownTime.of(repeat.request().sentNs()));
        }
        out.flush();
    }
}
