package io.waybill.query;

import io.waybill.home.Home;
import io.waybill.home.StoredCursor;
import io.waybill.home.StoredWorker;
import io.waybill.journal.JournalQueue;
import io.waybill.kept.KeptValues;
import io.waybill.query.Finding.Kind;
import io.waybill.query.Finding.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Checks what workers need besides their queues: names and ids, the generation, what they have read of each other, kept values. One thread,
 * once: begin, then the queues are read, then end.
 */
final class BesideCheck {

    private static final int MAX_KEPT = 10_000_000;
    private static final String VALUE = ".value";

    private final Home home;
    private final Consumer<Finding> findings;
    private final Map<StoredJournal, List<StoredCursor>> cursors = new HashMap<>();

    BesideCheck(Home home, Consumer<Finding> findings) {
        this.home = home;
        this.findings = findings;
    }

    /** Before the queues are read: what the cursors say of them must be there by then. */
    void begin(List<StoredJournal> journals) throws IOException {
        if (!home.propertiesProblem().isEmpty()) {
            find(Severity.DAMAGE, Optional.empty(), Kind.UNREADABLE, home.propertiesProblem());
        }
        checkClaims(journals);
        for (StoredJournal journal : journals) {
            StoredWorker stored =
                    new StoredWorker(journal.info(), journal.path(), home.host().files());
            cursors.put(journal, stored.cursors());
            stored.problems().forEach(problem -> find(Severity.DAMAGE, Optional.of(journal), Kind.UNREADABLE, problem));
            stored.generationProblem()
                    .ifPresent(problem -> find(Severity.NOTE, Optional.of(journal), Kind.UNREADABLE, problem));
            checkKept(journal);
        }
    }

    private void checkClaims(List<StoredJournal> journals) throws IOException {
        try {
            Map<String, Integer> claimed =
                    home.claimed(problem -> find(Severity.DAMAGE, Optional.empty(), Kind.UNREADABLE, problem));
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

    private void checkKept(StoredJournal journal) {
        Path directory = journal.path().resolve(KeptValues.DIRECTORY);
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            for (Path file : home.host().files().list(directory, MAX_KEPT)) {
                String name = file.getFileName().toString();
                String damage = name.endsWith(VALUE) && !name.startsWith(".")
                        ? KeptValues.damage(
                                file, journal.info().id(), home.host().files())
                        : "";
                if (!damage.isEmpty()) {
                    find(Severity.DAMAGE, Optional.of(journal), Kind.UNREADABLE, damage);
                }
            }
        } catch (IOException e) {
            find(Severity.DAMAGE, Optional.of(journal), Kind.UNREADABLE, String.valueOf(e.getMessage()));
        }
    }

    /** When the queues have been read. */
    void end(Map<Integer, QueueEnd> requests, Map<Integer, QueueEnd> responses) {
        cursors.forEach((journal, slots) -> {
            for (StoredCursor slot : slots) {
                check(journal, slot.peerId(), JournalQueue.REQUESTS, slot.requestsIndex(), requests);
                check(journal, slot.peerId(), JournalQueue.RESPONSES, slot.responsesIndex(), responses);
            }
        });
    }

    private void check(StoredJournal reader, int peer, JournalQueue queue, long position, Map<Integer, QueueEnd> ends) {
        QueueEnd end = ends.get(peer);
        if (end != null && end.isBehind(position)) {
            find(
                    Severity.NOTE,
                    Optional.of(reader),
                    Kind.BEYOND_END,
                    "it has read the " + queue.directoryName() + " of worker " + peer + " up to index 0x"
                            + Long.toHexString(position) + ", and " + end);
        }
    }

    private void find(Severity severity, Optional<StoredJournal> journal, Kind kind, String text) {
        findings.accept(new Finding(
                severity, kind, journal.map(StoredJournal::info), Optional.empty(), Optional.empty(), 0, 0, text));
    }
}
