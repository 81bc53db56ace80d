package io.waybill.cli.journal;

import io.waybill.cli.command.CommandGroup;
import io.waybill.cli.command.Surroundings;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code waybill journal}: shows the messages of a home, of running workers and of others. Never writes to the home.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "journal",
        header = "Looks at the messages that workers exchanged.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  waybill journal list --to ps0 --outcome error",
            "  waybill journal show 3.1041",
            "  waybill journal tail -f",
            "  waybill journal verify"
        })
public final class JournalCommand implements Runnable, CommandGroup {

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
    public Map<String, Class<?>> subcommands() {
        Map<String, Class<?>> all = new LinkedHashMap<>();
        all.put("show", ShowCommand.class);
        all.put("trace", TraceCommand.class);
        all.put("list", ListCommand.class);
        all.put("tail", TailCommand.class);
        all.put("stats", StatsCommand.class);
        all.put("export", ExportCommand.class);
        all.put("slice", SliceCommand.class);
        all.put("compare", CompareCommand.class);
        all.put("verify", VerifyCommand.class);
        all.put("salvage", SalvageCommand.class);
        return all;
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "Missing subcommand: "
                        + String.join(", ", subcommands().keySet()).replaceAll(", ([^,]*)$", " or $1"));
    }
}
