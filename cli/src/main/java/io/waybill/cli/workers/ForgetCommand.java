package io.waybill.cli.workers;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill workers forget}: makes the retention of other workers ignore a worker that will not return. */
@Command(
        mixinStandardHelpOptions = true,
        name = "forget",
        header = "Lets the others' retention wait no more for a worker that is gone for good.",
        description = {
            "",
            "Files that only this worker has not read may be removed from now on. Nothing else changes: its own journal"
                    + " stays, and when it joins again, it is waited for again.",
            ""
        },
        footer = {"", "Example:", "  waybill workers forget trainer-7"})
final class ForgetCommand implements Callable<Integer> {

    @ParentCommand
    private WorkersCommand workers;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "NAME", description = "The worker's name, or its id.")
    private String name;

    @Override
    public Integer call() throws IOException, CommandFailedException {
        Surroundings surroundings = workers.surroundings();
        Home opened = home.openExisting(surroundings, Host.real());
        try (Membership membership = Membership.present(opened)) {
            membership.refresh();
            Peer peer = membership
                    .findByNameOrId(name)
                    .orElseThrow(() -> new CommandFailedException("no worker " + name + " in " + opened.path()));
            if (peer.state().isThere() && peer.liveness() == Liveness.ALIVE) {
                throw new CommandFailedException("worker " + peer.name() + " is alive, as pid "
                        + peer.record().orElseThrow().process().pid()
                        + ": it will read what it has not read yet; end it first");
            }
            opened.forget(peer);
            surroundings
                    .out()
                    .println("no worker waits any more for worker " + peer.name() + " (id " + peer.id() + ")");
        }
        return 0;
    }
}
