package io.waybill.cli.dead;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.journal.CallJson;
import io.waybill.cli.journal.RecordJson;
import io.waybill.cli.select.MessageSelection;
import io.waybill.cli.select.NewestOption;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import io.waybill.home.note.Responders.Responder;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill dead list}: lists failed calls. */
@Command(
        mixinStandardHelpOptions = true,
        name = "list",
        header = "Lists failed calls that were not sent again, the newest last.",
        description = {"", "Calls that handlers made are left out: the call to the handler is what one sends again.", ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill dead list --worker ps0 --since 1h",
            "  waybill dead list --code HANDLER_FAILED --bundle org.acme.orders --bundle-version 1.2.0",
            "  waybill dead list --json | jq -r .id | waybill dead resend -"
        })
final class ListDeadCommand implements Callable<Integer> {

    @ParentCommand
    private DeadCommand dead;

    @Mixin
    private HomeOption home;

    @Mixin
    private MessageSelection messages;

    @Option(names = "--worker", paramLabel = "NAME", description = "Only to this worker. A name or an id.")
    private String worker;

    @Option(
            names = "--code",
            paramLabel = "CODE",
            description = "Only with this code, or because a call of it failed: TIMED_OUT, HANDLER_FAILED, ...")
    private String code;

    @Option(names = "--bundle", paramLabel = "NAME", description = "Only those to which this bundle responded.")
    private String bundle;

    @Option(names = "--bundle-version", paramLabel = "VERSION", description = "Only those of this version of a bundle.")
    private String version;

    @Option(names = "--nested", description = "Also calls that handlers made.")
    private boolean nested;

    @Option(names = "--all", description = "Also those that were sent again.")
    private boolean all;

    @Mixin
    private NewestOption newest;

    @Option(names = "--json", description = "Prints a line of JSON for each call.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        int limit = newest.limit();
        Surroundings surroundings = dead.surroundings();
        Host host = Host.real();
        ScanProgress watched = new ScanProgress(surroundings);
        try (Shelf shelf = Shelf.open(home.openExisting(surroundings, host), watched)) {
            MessageFilter.Builder filter = messages.addTo(new MessageFilter.Builder(), host.clock());
            if (worker != null) {
                filter.peer(SelectionOptions.workerId(shelf.journals(), worker));
            }
            if (code != null) {
                filter.error(OutcomeSelection.codeNamed(code));
            }
            Collection<DeadCall> found = shelf.list(filter, this::isWanted, limit);
            watched.done();
            print(found, shelf.journals(), surroundings);
        }
        return 0;
    }

    private boolean isWanted(DeadCall call) {
        return (nested || !call.isNested()) && (all || call.isWaiting()) && call.isOf(bundle, version);
    }

    private void print(Collection<DeadCall> calls, StoredMessages journals, Surroundings surroundings) {
        if (calls.isEmpty()) {
            surroundings.err().println("No failed call on record matches.");
            surroundings.err().flush();
        } else if (json) {
            for (DeadCall call : calls) {
                Json.printLine(surroundings.out(), content -> write(call, journals, content));
                StandardOutput.requireOpen(surroundings.out());
            }
        } else {
            Table table =
                    new Table("SENT", "ID", "FROM", "TO", "OPERATION", "OUTCOME", "BUNDLE", "ATTEMPT", "SENT AGAIN");
            calls.forEach(call -> row(call, journals, table));
            table.print(surroundings.out());
            surroundings.out().flush();
        }
    }

    private static void row(DeadCall dead, StoredMessages journals, Table table) {
        var request = dead.call().request();
        table.row(
                ShownTime.of(request.sentNs()),
                dead.id(),
                journals.nameOf(request.from()),
                journals.nameOf(request.to()),
                dead.call().operation().orElse(request.type().name()),
                dead.call().outcomeText(),
                dead.call().notes().responder().map(Responder::toString).orElse("-"),
                dead.attempt(),
                dead.resentText());
    }

    private static void write(DeadCall dead, StoredMessages journals, JsonGenerator json) throws IOException {
        json.writeStartObject();
        new RecordJson(journals).fields(dead.call().request(), json);
        if (dead.call().operation().isPresent()) {
            json.writeStringField("operation", dead.call().operation().get());
        }
        CallJson.outcome(dead.call(), json);
        dead.repeatFields(json);
        json.writeEndObject();
    }
}
