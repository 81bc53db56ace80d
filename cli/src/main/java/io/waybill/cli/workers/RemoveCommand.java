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
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.query.DepartedWorkers;
import io.waybill.query.DepartedWorkers.Loss;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code waybill workers remove}: deletes or archives the directories of departed workers in the home. */
@Command(
        mixinStandardHelpOptions = true,
        name = "remove",
        header = "Removes what workers that are gone left: their journals, names and ids.",
        description = {
            "",
            "A worker that another one still has something to read of, or that has requests to complete, is refused, with"
                    + " what would be lost. One that joins again under the name is a"
                    + " new worker. What was removed can't be shown, looked up or replayed any more, but in an archive.",
            "",
            "Of several that are not named, such a one is kept, and so are nodes, workers with stores or values on disk, and cli, whose"
                    + " journal tells what commands did. All are listed before anything is removed, and a person at a terminal is asked.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill workers remove trainer-7",
            "  waybill workers remove --all-departed",
            "  waybill workers remove --departed-for 1d --archive /backup/waybill --yes"
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

    @Option(names = "--yes", description = "Does not ask before it removes workers that are not named.")
    private boolean yes;

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
        PrintWriter out = surroundings.out();
        if (!dryRun) {
            removal.complete()
                    .forEach(worker -> out.println("worker " + worker.name() + " (id " + worker.id()
                            + ") is removed: an earlier removal had been interrupted"));
        }
        try (Membership membership = new Membership(opened)) {
            membership.refresh();
            DepartedWorkers departed =
                    new DepartedWorkers(opened, membership.members().all());
            if (isBulk) {
                removeAll(departed, removal, surroundings);
            } else {
                removeNamed(departed, removal, named(membership, opened), out);
            }
        }
        return 0;
    }

    /** Lists all departed workers, asks for confirmation, and removes them. */
    private void removeAll(DepartedWorkers departed, Removal removal, Surroundings surroundings)
            throws IOException, CommandFailedException {
        PrintWriter out = surroundings.out();
        List<Peer> left = departed.leftBefore(all ? Duration.ZERO : age);
        List<Peer> chosen = new ArrayList<>();
        for (Peer worker : left) {
            Optional<String> kept = departed.kept(worker);
            List<Loss> losses = kept.isEmpty() ? departed.losses(worker) : List.of();
            if (kept.isPresent()) {
                out.println(text(worker) + " is kept: " + kept.get() + "; its name removes it");
            } else if (losses.isEmpty() || force) {
                chosen.add(worker);
                out.println(
                        text(worker) + " would be removed" + (losses.isEmpty() ? "" : ", which loses " + text(losses)));
            } else {
                out.println(text(worker) + " is kept: " + text(losses));
            }
        }
        out.flush();
        int removed = chosen.size();
        if (!dryRun && !chosen.isEmpty()) {
            if (!yes) {
                surroundings.confirm(
                        (archive == null ? "Delete" : "Move to " + archive) + " what " + chosen.size()
                                + " workers that left have in the home",
                        "--yes");
            }
            removed = removeEach(chosen, removal, out);
        }
        out.println((dryRun ? "would remove " : "removed ") + removed + " of " + left.size() + " workers that left");
    }

    /** Removes the chosen workers and returns their number; one may have rejoined since it was listed. */
    private int removeEach(List<Peer> chosen, Removal removal, PrintWriter out) throws IOException {
        int removed = 0;
        for (Peer worker : chosen) {
            try {
                removal.remove(worker, Optional.ofNullable(archive));
                removed++;
            } catch (HomeException e) {
                out.println(text(worker) + " is kept: " + e.getMessage());
            }
        }
        return removed;
    }

    private void removeNamed(DepartedWorkers departed, Removal removal, List<Peer> chosen, PrintWriter out)
            throws IOException, CommandFailedException {
        Map<Peer, List<Loss>> losses = new LinkedHashMap<>();
        for (Peer worker : chosen) { // check all before the first removal
            losses.put(worker, departed.losses(worker));
            if (!losses.get(worker).isEmpty() && !force) {
                throw new CommandFailedException("worker " + worker.name() + " can't be removed without loss: "
                        + text(losses.get(worker)) + "; --force removes it all the same");
            }
        }
        for (Peer worker : chosen) {
            String lost = text(losses.get(worker));
            String what = departed.kept(worker).map(kept -> ": " + kept).orElse("")
                    + (lost.isEmpty() ? "" : (dryRun ? ", which loses " : "; lost: ") + lost);
            if (!dryRun) {
                removal.remove(worker, Optional.ofNullable(archive));
            }
            out.println(text(worker) + (dryRun ? " would be removed" : " is removed") + what);
        }
    }

    private static String text(Peer worker) {
        return "worker " + worker.name() + " (id " + worker.id() + ")";
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
