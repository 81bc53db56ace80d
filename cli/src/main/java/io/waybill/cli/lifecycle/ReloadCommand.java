package io.waybill.cli.lifecycle;

import io.waybill.api.admin.SettingChange;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.host.Host;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill reload}: makes a node reread its settings. */
@Command(
        mixinStandardHelpOptions = true,
        name = "reload",
        header = "Has a node read its settings again, and says what it takes over.",
        description = {
            "",
            "Lists the settings whose values in the node's files are others than those it runs with. What can change in a"
                    + " running node is applied; the rest needs a restart. If a file has a mistake, nothing changes.",
            ""
        },
        footer = {"", "Example:", "  waybill reload ps0"})
public final class ReloadCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "NODE", description = "Its name.")
    private String name;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    public ReloadCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        RunningNode node = RunningNode.find(surroundings, home.openExisting(surroundings, Host.real()), name);
        List<SettingChange> changes = node.reload();
        if (json) {
            Json.print(surroundings.out(), content -> ControlJson.write(changes, content));
            return 0;
        }
        if (changes.isEmpty()) {
            surroundings.out().println("No setting of " + node.name() + " is different.");
            return 0;
        }
        Table table = new Table("SETTING", "FROM", "TO", "RESULT");
        changes.forEach(change -> row(change, node.name(), table));
        table.print(surroundings.out());
        return 0;
    }

    private static void row(SettingChange change, String node, Table table) {
        table.row(
                change.setting(),
                orDash(change.from()),
                orDash(change.to()),
                change.applied() ? "applied" : "needs a restart: waybill restart " + node);
    }

    private static String orDash(String text) {
        return text.isEmpty() ? "-" : text;
    }
}
