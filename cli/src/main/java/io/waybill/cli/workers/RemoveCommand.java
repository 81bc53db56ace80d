package io.waybill.cli.workers;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.Removal;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.query.DepartedWorkers;
import io.waybill.query.DepartedWorkers.Loss;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill workers remove}: deletes or archives what workers that are gone left in the home. */
@Command(
        mixinStandardHelpOptions = true,
        name = "remove",
        header = "Removes what workers that are gone left: their journals, names and ids.",
        description = {
            "",
            "A worker that another one still has something to read of, or that has requests to complete, is refused, with"
                    + " what would be lost; of several, such a one is kept. One that joins again under the name is a"
                    + " new worker. What was removed can't be shown, looked up or replayed any more, but in an archive.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill workers remove trainer-7",
            "  waybill workers remove --departed-for 1d --archive /backup/waybill",
            "  waybill workers remove --all-departed --dry-run"
        })
final class RemoveCommand implements Callable<Integer> {

    @ParentCommand
    private WorkersCommand workers;

    @Mixin
    private HomeOption home;

    @Parameters(paramLabel = "NAME", arity = "0..*", description = "Workers that left or died, by name or id.")
    private List<String> names = List.of();

    @Option(
            names = "--departed-for",
            paramLabel = "AGE",
            converter = DurationOption.class,
            description = "All that left in order at least so long ago: 30m, 1d.")
    private Duration age;

    @Option(names = "--all-departed", description = "All that left in order.")
    private boolean all;

    @Option(
            names = "--archive",
            paramLabel = "DIR",
            description = "Moves them into this home, where waybill journal and replay read them, instead of deleting"
                    + " them. On the same file system.")
    private Path archive;

    @Option(names = "--dry-run", description = "Says what would be removed, and changes nothing.")
    private boolean dryRun;

    @Option(names = "--force", description = "Also if something is lost, which is said.")
    private boolean force;

    @Override
    public Integer call() throws IOException, CommandFailedException, UsageException {
        boolean isBulk = all || age != null;
        if (names.isEmpty() != isBulk || all && age != null) {
            throw new UsageException("give names of workers, or --all-departed, or --departed-for AGE");
        }
        Surroundings surroundings = workers.surroundings();
        Home opened = home.openExisting(surroundings, Host.real());
        Removal removal = new Removal(opened);
        if (!dryRun) {
            removal.complete()
                    .forEach(worker -> surroundings
                            .out()
                            .println("worker " + worker.name() + " (id " + worker.id()
                                    + ") is removed: an earlier removal had been interrupted"));
        }
        try (Membership membership = new Membership(opened)) {
            membership.refresh();
            DepartedWorkers departed =
                    new DepartedWorkers(opened, membership.members().all());
            List<Peer> chosen = isBulk ? departed.leftBefore(all ? Duration.ZERO : age) : named(membership, opened);
            int removed = 0;
            for (Peer worker : chosen) {
                List<Loss> losses = departed.losses(worker);
                if (!losses.isEmpty() && !force && !isBulk) {
                    throw new CommandFailedException("worker " + worker.name() + " can't be removed without loss: "
                            + text(losses) + "; --force removes it all the same");
                }
                if (losses.isEmpty() || force) {
                    if (!dryRun) {
                        removal.remove(worker, Optional.ofNullable(archive));
                    }
                    removed++;
                }
                say(surroundings.out(), worker, losses, isBulk);
            }
            if (isBulk) {
                surroundings
                        .out()
                        .println((dryRun ? "would remove " : "removed ") + removed + " of " + chosen.size()
                                + " workers that left");
            }
        }
        return 0;
    }

    private void say(PrintWriter out, Peer worker, List<Loss> losses, boolean isBulk) {
        String name = "worker " + worker.name() + " (id " + worker.id() + ")";
        if (!losses.isEmpty()) {
            String what = force ? dryRun ? " would be removed, which loses " : " is removed; lost: " : " is kept: ";
            out.println(name + what + text(losses));
        } else if (!isBulk) {
            out.println(name + (dryRun ? " would be removed" : " is removed"));
        }
    }

    private static String text(List<Loss> losses) {
        return losses.stream().map(Loss::toString).collect(Collectors.joining(", "));
    }

    private List<Peer> named(Membership membership, Home opened) throws IOException, CommandFailedException {
        List<Peer> found = new ArrayList<>();
        for (String name : names) {
            Peer worker = membership
                    .findByNameOrId(name)
                    .orElseThrow(() -> new CommandFailedException("no worker " + name + " in " + opened.path()));
            if (worker.state().isThere() && worker.liveness() == Liveness.ALIVE) {
                throw new CommandFailedException("worker " + worker.name() + " is alive, as pid "
                        + worker.record().orElseThrow().process().pid() + ": end it first");
            }
            found.add(worker);
        }
        return found;
    }
}
