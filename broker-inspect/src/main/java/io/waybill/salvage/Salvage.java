package io.waybill.salvage;

import io.waybill.api.WorkerInfo;
import io.waybill.home.Home;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.home.error.HomeException;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Roll;
import io.waybill.query.HomeJournals;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * Copies everything readable in a home to a new one, which workers can join and all commands can read. Records are
 * unchanged, including number and checksum, in files of the same names; missing ones are listed in a separate file.
 *
 * <p>The damaged home is only read, whether its workers are running or not: for a running one, the records up to some
 * time are copied.
 *
 * <p><b>Threads.</b> One, once. <b>Memory.</b> Bounded for each worker, for any size of the journals.
 */
public final class Salvage {

    private final Home from;
    private final Path out;
    private final LongConsumer progress;
    private final List<String> problems = new ArrayList<>();
    private final Map<Integer, WorkerSalvage> workers = new LinkedHashMap<>();
    private long copied;

    /**
     * Creates a salvage.
     *
     * @param from the damaged home
     * @param out path of the new home: a new path, or an empty directory
     * @param progress called periodically with the number of copied records
     */
    public Salvage(Home from, Path out, LongConsumer progress) {
        this.from = from;
        this.out = out.toAbsolutePath().normalize();
        this.progress = progress;
    }

    /**
     * Copies the home.
     *
     * @param only this worker; empty for all
     * @throws IOException if the new home can't be written; it is unusable then
     */
    public SalvageReport run(Optional<WorkerInfo> only) throws IOException {
        requireNothingAt(out);
        try (HomeJournals journals = HomeJournals.open(from)) {
            if (!from.propertiesProblem().isEmpty()) {
                problems.add(from.propertiesProblem());
            }
            problems.addAll(journals.problems());
            for (WorkerInfo info : journals.workers()) {
                if (only.isEmpty() || only.get().equals(info)) {
                    workers.put(info.id(), new WorkerSalvage(info, from.workerPath(info), files()));
                }
            }
        }
        workers.values().forEach(this::wantPositions);
        Roll roll = roll();
        Home home = Home.open(out, from.host(), roll.name(), from.identity());
        copyClaims(home);
        return copy(home, roll);
    }

    private SafeFiles files() {
        return from.host().files();
    }

    private void requireNothingAt(Path path) throws IOException {
        if (path.startsWith(from.path()) || from.path().startsWith(path)) {
            throw new HomeException(path + " and the home " + from.path() + " lie in each other; give another place");
        }
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                && !files().list(path, 1 << 20).isEmpty()) {
            throw new HomeException(path + " is not empty; give an empty or a new directory");
        }
    }

    private void wantPositions(WorkerSalvage reader) {
        for (StoredCursor cursor : reader.cursors()) {
            WorkerSalvage peer = workers.get(cursor.peerId());
            if (peer != null) {
                peer.positions(JournalQueue.REQUESTS).want(cursor.requestsIndex());
                peer.positions(JournalQueue.REQUESTS).want(cursor.requestsCompletedBefore());
                peer.positions(JournalQueue.RESPONSES).want(cursor.responsesIndex());
            }
        }
    }

    /** Returns the home's roll cycle, unless all files of its queues are named by another one. */
    private Roll roll() throws IOException {
        Roll said = Roll.named(from.rollCycle());
        Set<Roll> found = EnumSet.noneOf(Roll.class);
        for (WorkerSalvage worker : workers.values()) {
            for (JournalQueue queue : JournalQueue.values()) {
                Path directory = queue.in(from.workerPath(worker.info()));
                if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
                    found.addAll(Roll.of(directory, files()));
                }
            }
        }
        return found.isEmpty() || found.contains(said) ? said : found.iterator().next();
    }

    /** Copies the claims of ids by names, which are permanent, also without a directory. */
    private void copyClaims(Home home) throws IOException {
        try {
            for (Map.Entry<String, Integer> claim : from.claimed(problems::add).entrySet()) {
                WorkerSalvage holder = workers.get(claim.getValue());
                if (holder == null || holder.info().name().equals(claim.getKey())) {
                    home.claim(new WorkerInfo(claim.getValue(), claim.getKey()));
                }
            }
        } catch (HomeException e) {
            problems.add(String.valueOf(e.getMessage()));
        }
    }

    private SalvageReport copy(Home home, Roll roll) throws IOException {
        List<SalvagedWorker> salvaged = new ArrayList<>();
        try {
            for (WorkerSalvage worker : workers.values()) {
                worker.begin(home);
            }
            for (WorkerSalvage worker : workers.values()) {
                worker.copy(roll, this::progressed);
            }
            for (WorkerSalvage worker : workers.values()) {
                salvaged.add(worker.end(workers));
            }
            return new SalvageReport(salvaged, problems);
        } finally {
            for (WorkerSalvage worker : workers.values()) {
                worker.abandon();
            }
        }
    }

    private void progressed(long more) {
        copied += more;
        progress.accept(copied);
    }
}
