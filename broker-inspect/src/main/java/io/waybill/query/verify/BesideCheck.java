package io.waybill.query.verify;

import io.waybill.api.WorkerInfo;
import io.waybill.broker.file.StateFiles;
import io.waybill.home.Home;
import io.waybill.home.StoredWorker;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.kept.KeptValues;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.verify.Finding.Kind;
import io.waybill.query.verify.Finding.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.agrona.collections.Long2LongHashMap;

/**
 * Checks the files of workers besides their queues: names and ids, the epoch, positions of readers, kept values, stores
 * on disk. Positions of readers are evidence of former records. One thread, once: begin, then the queues are read, then
 * end.
 */
final class BesideCheck {

    private static final int MAX_KEPT = 10_000_000;
    private static final String VALUE = ".value";

    private final Home home;
    private final Consumer<Finding> findings;
    private final Map<StoredJournal, List<StoredCursor>> cursors = new HashMap<>();
    private final Set<StoredJournal> callable = new HashSet<>();
    /** Low watermarks of requests, by receiver and caller. */
    private final Long2LongHashMap finished = new Long2LongHashMap(0);

    BesideCheck(Home home, Consumer<Finding> findings) {
        this.home = home;
        this.findings = findings;
    }

    /** Reads the cursors before the queues are read: the queues then contain all records that they refer to. */
    void begin(List<StoredJournal> journals) throws IOException {
        if (!home.propertiesProblem().isEmpty()) {
            find(Severity.DAMAGE, Optional.empty(), Kind.UNREADABLE, home.propertiesProblem());
        }
        for (StoredJournal journal : journals) {
            StoredWorker stored =
                    new StoredWorker(journal.info(), journal.path(), home.host().files());
            readCursors(journal, stored);
            stored.problems()
                    .forEach(problem -> findings.accept(new Finding(
                            Severity.DAMAGE,
                            Kind.UNREADABLE,
                            Optional.of(journal.info()),
                            Optional.empty(),
                            Optional.of(problem.file()),
                            0,
                            0,
                            problem.text())));
            stored.epochProblem()
                    .ifPresent(problem -> find(Severity.NOTE, Optional.of(journal), Kind.UNREADABLE, problem));
            checkKept(journal);
        }
        checkClaims(journals);
    }

    private void readCursors(StoredJournal journal, StoredWorker stored) {
        List<StoredCursor> slots = stored.cursors();
        cursors.put(journal, slots);
        if (stored.callableEpoch() > 0) {
            callable.add(journal);
        }
        for (StoredCursor slot : slots) {
            if (slot.requestsCompletedBefore() > 0) {
                finished.put(pair(journal.info().id(), slot.peerId()), slot.requestsCompletedBefore());
            }
        }
    }

    private static long pair(int receiver, int caller) {
        return (long) receiver << Integer.SIZE | caller;
    }

    /** Returns whether the cursors of a request's receiver show it as completed, and therefore with a response. */
    boolean isFinished(int receiver, int caller, long index) {
        return index < finished.get(pair(receiver, caller));
    }

    /** Returns the evidence that a queue was begun, other than its own directory; empty if there is none. */
    Optional<String> proofOf(StoredJournal journal, JournalQueue queue) {
        if (callable.contains(journal)) {
            return Optional.of("its worker took calls");
        }
        return readerOf(journal.info().id(), queue).map(reader -> "worker " + reader + " has read of it");
    }

    private Optional<StoredJournal> readerOf(int worker, JournalQueue queue) {
        return cursors.entrySet().stream()
                .filter(entry -> entry.getValue().stream()
                        .anyMatch(slot -> slot.peerId() == worker && position(slot, queue) > 0))
                .map(Map.Entry::getKey)
                .findFirst();
    }

    private static long position(StoredCursor slot, JournalQueue queue) {
        return queue == JournalQueue.REQUESTS
                ? Math.max(slot.requestsIndex(), slot.requestsCompletedBefore())
                : slot.responsesIndex();
    }

    private void checkClaims(List<StoredJournal> journals) throws IOException {
        try {
            Map<String, Integer> claimed =
                    home.claimed(problem -> find(Severity.DAMAGE, Optional.empty(), Kind.UNREADABLE, problem));
            claimed.forEach(this::requireDirectory);
            for (StoredJournal journal : journals) {
                Integer id = claimed.get(journal.info().name());
                if (id == null || id != journal.info().id()) {
                    find(
                            Severity.DAMAGE,
                            Optional.of(journal),
                            Kind.UNREADABLE,
                            "expected the claims of name " + journal.info().name() + " and id "
                                    + journal.info().id() + ", found "
                                    + (id == null ? "none" : "that the name has id " + id));
                }
            }
        } catch (IOException e) {
            find(Severity.DAMAGE, Optional.empty(), Kind.UNREADABLE, String.valueOf(e.getMessage()));
        }
    }

    private void requireDirectory(String name, int id) {
        WorkerInfo info = new WorkerInfo(id, name);
        Path directory = home.workersPath().resolve(id + "-" + name);
        Optional<StoredJournal> reader =
                readerOf(id, JournalQueue.RESPONSES).or(() -> readerOf(id, JournalQueue.REQUESTS));
        if (reader.isPresent() && !Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            findings.accept(new Finding(
                    Severity.DAMAGE,
                    Kind.MISSING,
                    Optional.of(info),
                    Optional.empty(),
                    Optional.of(directory),
                    0,
                    0,
                    "expected the worker's directory, found none, and worker " + reader.get()
                            + " has read its journal: all of it is lost"));
        }
    }

    private void checkKept(StoredJournal journal) {
        SafeFiles files = home.host().files();
        int worker = journal.info().id();
        checkEach(journal, KeptValues.DIRECTORY, file -> {
            String name = file.getFileName().toString();
            return name.endsWith(VALUE) && !name.startsWith(".") ? KeptValues.damage(file, worker, files) : "";
        });
        checkEach(
                journal,
                StateFiles.DIRECTORY,
                file -> StateFiles.isStore(file) ? StateFiles.damage(file, worker, files) : "");
    }

    /** @param damage function that describes the damage of a file; empty for none */
    private void checkEach(StoredJournal journal, String name, Function<Path, String> damage) {
        Path directory = journal.path().resolve(name);
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            for (Path file : home.host().files().list(directory, MAX_KEPT)) {
                String found = damage.apply(file);
                if (!found.isEmpty()) {
                    find(Severity.DAMAGE, Optional.of(journal), Kind.UNREADABLE, found);
                }
            }
        } catch (IOException e) {
            find(Severity.DAMAGE, Optional.of(journal), Kind.UNREADABLE, String.valueOf(e.getMessage()));
        }
    }

    /**
     * Checks, after the queues were read, whether they reach the positions of their readers.
     *
     * @param ends of the queues of each worker
     */
    void end(Map<StoredJournal, Map<JournalQueue, QueueEnd>> ends) {
        cursors.forEach((reader, slots) -> {
            for (StoredCursor slot : slots) {
                ends.forEach((journal, queues) -> {
                    if (journal.info().id() == slot.peerId()) {
                        queues.forEach((queue, end) -> check(reader, slot, journal, queue, end));
                    }
                });
            }
        });
    }

    private void check(
            StoredJournal reader, StoredCursor slot, StoredJournal journal, JournalQueue queue, QueueEnd end) {
        long position = position(slot, queue);
        if (end.isBehind(position)) {
            findings.accept(new Finding(
                    Severity.DAMAGE,
                    Kind.BEYOND_END,
                    Optional.of(journal.info()),
                    Optional.of(queue),
                    Optional.of(end.file(queue.in(journal.path()))),
                    0,
                    0,
                    "worker " + reader + " has read it up to index 0x" + Long.toHexString(position) + ", and " + end
                            + ": records at its end are lost, or the cursors of that worker are damaged"));
        }
    }

    private void find(Severity severity, Optional<StoredJournal> journal, Kind kind, String text) {
        findings.accept(new Finding(
                severity, kind, journal.map(StoredJournal::info), Optional.empty(), Optional.empty(), 0, 0, text));
    }
}
