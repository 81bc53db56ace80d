package io.waybill.cli.lifecycle;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.host.Host;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill stop}: stops a node. */
@Command(
        mixinStandardHelpOptions = true,
        name = "stop",
        header = "Stops a node: running calls complete, then it leaves.",
        description = {
            "",
            "Waits until it has left. A node of waybill up is not started again, until waybill up itself is; the others go on.",
            ""
        },
        footer = {"", "Example:", "  waybill stop ps0"})
public final class StopCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "NODE", description = "Its name.")
    private String name;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = DurationOption.class,
            defaultValue = "65s",
            description = "How long to wait for its end. Default: ${DEFAULT-VALUE}.")
    private Duration timeout;

    public StopCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        RunningNode node = RunningNode.find(surroundings, home.openExisting(surroundings, Host.real()), name);
        node.ask(false);
        node.awaitEnd(timeout);
        surroundings.out().println("stopped " + node.name() + " pid=" + node.pid());
        return 0;
    }
}
