package io.waybill.cli.journal;

import io.waybill.cli.command.Surroundings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code waybill journal}: shows the messages of a home, of running workers and of others. Writes nothing there. */
@Command(
        mixinStandardHelpOptions = true,
        name = "journal",
        header = "Looks at the messages that workers exchanged.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ShowCommand.class,
            TraceCommand.class,
            ListCommand.class,
            TailCommand.class,
            StatsCommand.class,
            ExportCommand.class,
            SliceCommand.class,
            VerifyCommand.class,
            SalvageCommand.class
        },
        footer = {
            "",
            "Examples:",
            "  waybill journal list --to ps0 --outcome error",
            "  waybill journal show 3.1041",
            "  waybill journal tail -f",
            "  waybill journal verify"
        })
public final class JournalCommand implements Runnable {

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    public JournalCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    Surroundings surroundings() {
        return surroundings;
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "Missing subcommand: "
                        + String.join(", ", spec.subcommands().keySet()).replaceAll(", ([^,]*)$", " or $1"));
    }
}
