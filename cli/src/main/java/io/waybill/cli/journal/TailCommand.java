package io.waybill.cli.journal;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.select.OutcomeSelection;
import io.waybill.cli.select.SelectionOptions;
import io.waybill.host.Host;
import io.waybill.query.HomeFollower;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredEntry;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code waybill journal tail}: prints records on arrival, one per line. */
@Command(
        mixinStandardHelpOptions = true,
        name = "tail",
        header = "Shows the newest records, and with -f those that come.",
        description = {"", "With --outcome or --slower-than it shows responses alone.", ""},
        footer = {
            "",
            "Examples:",
            "  waybill journal tail -n 20",
            "  waybill journal tail -f --to ps0",
            "  waybill journal tail -f --outcome error"
        })
final class TailCommand implements Callable<Integer> {

    private static final long FOLLOW_PAUSE_NS = 100_000_000;

    @ParentCommand
    private JournalCommand journal;

    @Mixin
    private HomeOption home;

    @Mixin
    private SelectionOptions selection;

    @Mixin
    private OutcomeSelection outcomes;

    @Option(
            names = {"-f", "--follow"},
            description = "Goes on until interrupted.")
    private boolean follow;

    @Option(
            names = {"-n", "--lines"},
            paramLabel = "N",
            defaultValue = "10",
            description = "How many records to begin with. Default: ${DEFAULT-VALUE}.")
    private int newest;

    @Option(names = "--json", description = "Prints a line of JSON for each record.")
    private boolean json;

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        if (newest < 0) {
            throw new UsageException("--lines must be 0 or more: " + newest);
        }
        outcomes.requireResponses();
        Surroundings surroundings = journal.surroundings();
        Host host = Host.real();
        try (HomeJournals journals = HomeJournals.open(home.openExisting(surroundings, host))) {
            MessageFilter filter =
                    outcomes.addTo(selection.builder(journals, host.clock())).build();
            try (HomeFollower follower = journals.follow(filter)) {
                Consumer<StoredEntry> lines = new EntryLines(journals, surroundings.out(), json);
                follower.begin(newest, lines);
                while (follow
                        && !Thread.currentThread().isInterrupted()
                        && !surroundings.out().checkError()) {
                    if (follower.poll(lines) == 0) {
                        host.threads().pause(FOLLOW_PAUSE_NS);
                    }
                }
            }
        }
        return 0;
    }
}
