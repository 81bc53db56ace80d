package io.waybill.cli.tool;

import io.waybill.api.Value;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.cli.show.ValueJson;
import io.waybill.host.Host;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code waybill help}: shows the built-in commands, or those that the bundles of a node offer. */
@Command(
        mixinStandardHelpOptions = true,
        name = "help",
        header = "Lists the commands of waybill, or those that the bundles of a node offer.",
        footer = {"", "Examples:", "  waybill help", "  waybill help --node ps0"})
public final class HelpCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    @Spec
    private CommandSpec spec;

    @Mixin
    private HomeOption home;

    @Option(names = "--node", paramLabel = "NAME", description = "The node whose bundles' commands are listed.")
    private String node;

    @Option(names = "--json", description = "Prints JSON, with --node.")
    private boolean json;

    public HelpCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        if (node == null) {
            spec.root().commandLine().usage(surroundings.out());
            return ExitCode.OK;
        }
        List<Value> commands;
        try (ToolClient client =
                new ToolClient(CallingWorker.join(home.openExisting(surroundings, Host.real())), node)) {
            commands = client.list();
        }
        if (json) {
            Json.print(surroundings.out(), content -> ValueJson.write(new Value.Items(commands), content));
        } else {
            print(commands);
        }
        return ExitCode.OK;
    }

    private void print(List<Value> commands) {
        if (commands.isEmpty()) {
            surroundings.err().println("No bundle of " + node + " offers a command");
            return;
        }
        Table table = new Table("COMMAND", "BUNDLE", "VERSION", "DESCRIPTION");
        for (Value command : commands) {
            table.row(
                    ToolFields.text(command, "name"),
                    ToolFields.text(command, "provider"),
                    ToolFields.text(command, "version"),
                    ToolFields.text(command, "summary"));
        }
        table.print(surroundings.out());
    }
}
