package io.waybill.cli.journal;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.StandardOutput;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.NewestOption;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.cli.select.SourceOptions;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal list}: lists calls, one per line. */
@Command(
        mixinStandardHelpOptions = true,
        name = "list",
        header = "Lists calls with what became of them, the newest last.",
        footer = {
            "",
            "Examples:",
            "  waybill journal list --from a --since 10m",
            "  waybill journal list --operation aten::* --outcome error --limit 0",
            "  waybill journal list --slower-than 10ms",
            "  waybill journal list --operation pay.charge --where amount=1500",
            "  waybill journal list --error TIMED_OUT --since 1h",
            "  waybill journal list --control --operation control:bundle.install",
            "  waybill journal list --json | jq .id"
        })
final class ListCommand implements Callable<Integer> {

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private SourceOptions source;

    @Mixin
    private SelectionOptions selection;

    @Mixin
    private OutcomeSelection outcomes;

    @Mixin
    private NewestOption newest;

    @Option(names = "--json", description = "Prints a line of JSON for each call.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        int limit = newest.limit();
        Surroundings surroundings = journal.surroundings();
        Host host = Host.real();
        ScanProgress watched = new ScanProgress(surroundings);
        try (StoredMessages journals = source.open(surroundings, host, watched)) {
            MessageFilter filter =
                    outcomes.addTo(selection.builder(journals, host.clock())).build();
            CallLines lines = new CallLines(journals, surroundings.out(), json);
            journals.list(filter, limit, call -> {
                watched.done();
                lines.accept(call);
                StandardOutput.requireOpen(surroundings.out());
            });
            watched.done();
            lines.end(surroundings.err());
        }
        return 0;
    }
}
