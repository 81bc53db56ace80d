package io.waybill.cli.dead;

import io.waybill.cli.command.CommandGroup;
import io.waybill.cli.command.Surroundings;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code waybill dead}: finds failed calls in the journals of a home, and sends them again. */
@Command(
        mixinStandardHelpOptions = true,
        name = "dead",
        header = "Lists failed calls, shows them and sends them again.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  waybill dead list --worker ps0 --since 1h",
            "  waybill dead show 3.1041",
            "  waybill dead resend 3.1041"
        })
public final class DeadCommand implements Runnable, CommandGroup {

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    public DeadCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    Surroundings surroundings() {
        return surroundings;
    }

    @Override
    public Map<String, Class<?>> subcommands() {
        Map<String, Class<?>> all = new LinkedHashMap<>();
        all.put("list", ListDeadCommand.class);
        all.put("show", ShowDeadCommand.class);
        all.put("resend", ResendCommand.class);
        return all;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing subcommand: list, show or resend");
    }
}
