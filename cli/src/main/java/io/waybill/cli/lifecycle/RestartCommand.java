package io.waybill.cli.lifecycle;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Peer;
import io.waybill.host.Host;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill restart}: stops a node, which its supervisor restarts. */
@Command(
        mixinStandardHelpOptions = true,
        name = "restart",
        header =
                "Restarts a node of waybill up: running calls complete, then it starts again with its settings as they are now.",
        description = {
            "",
            "Waits until it serves. Requests that arrive meanwhile wait in the journals. A node that has no waybill up is"
                    + " refused, because nothing would start it again.",
            ""
        },
        footer = {"", "Example:", "  waybill restart ps0"})
public final class RestartCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "NODE", description = "Its name.")
    private String name;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = DurationOption.class,
            defaultValue = "120s",
            description = "How long to wait until it serves again. Default: ${DEFAULT-VALUE}.")
    private Duration timeout;

    public RestartCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        RunningNode node = RunningNode.find(surroundings, home.openExisting(surroundings, Host.real()), name);
        node.ask(true);
        Peer next = node.awaitReturn(timeout);
        surroundings
                .out()
                .println(
                        "restarted " + next.name() + " pid=" + RunningNode.pid(next) + ", which was pid=" + node.pid());
        return 0;
    }
}
