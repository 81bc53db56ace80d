package io.waybill.query.verify;

import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.check.StructureCheck;
import io.waybill.journal.check.StructureFindings;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.recover.QueueExtent;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.verify.Finding.Kind;
import io.waybill.query.verify.Finding.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Checks a worker's directory apart from its records: its published record, and the structures that readers use before
 * the first record. One thread, once.
 */
final class DirectoryCheck {

    private static final String RECORD_FILE = "worker.json";

    private final Home home;
    private final Consumer<Finding> findings;

    DirectoryCheck(Home home, Consumer<Finding> findings) {
        this.home = home;
        this.findings = findings;
    }

    /** Checks the published records of the workers. */
    void checkRecords(Iterable<StoredJournal> journals) throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            for (StoredJournal journal : journals) {
                Optional<Peer> peer = membership.members().all().stream()
                        .filter(member -> member.path().equals(journal.path()))
                        .findFirst();
                if (peer.isEmpty()) {
                    find(
                            Severity.NOTE,
                            journal,
                            Optional.empty(),
                            RECORD_FILE,
                            "there is none: it never joined wholly");
                } else if (peer.get().state() == PeerState.UNREADABLE) {
                    find(
                            Severity.DAMAGE,
                            journal,
                            Optional.empty(),
                            RECORD_FILE,
                            peer.get().problem());
                }
            }
        }
    }

    /** Checks the table and the files of a queue. */
    void checkQueue(StoredJournal journal, JournalQueue queue) {
        Path directory = queue.in(journal.path());
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        String table = queue.directoryName() + "/" + QueueStructure.TABLE;
        try {
            Optional<Damage> damage =
                    QueueStructure.damage(directory, home.host().files());
            if (damage.isPresent()) {
                String file = queue.directoryName() + "/" + damage.get().file().getFileName();
                find(
                        Severity.DAMAGE,
                        journal,
                        Optional.of(queue),
                        file,
                        damage.get().text() + ": no worker can read the queue");
            } else if (JournalTail.exists(directory)
                    && !Files.exists(journal.path().resolve(table), LinkOption.NOFOLLOW_LINKS)) {
                find(
                        Severity.NOTE,
                        journal,
                        Optional.of(queue),
                        table,
                        "there is none: its worker recreates it when it starts");
            }
        } catch (IOException e) {
            find(Severity.DAMAGE, journal, Optional.of(queue), queue.directoryName(), String.valueOf(e.getMessage()));
        }
    }

    /**
     * Checks whether a queue that was begun has its files.
     *
     * @param proof evidence that it was begun; the directory itself may be evidence, too
     */
    QueueExtent checkExtent(StoredJournal journal, JournalQueue queue, Optional<String> proof) throws IOException {
        Path directory = queue.in(journal.path());
        QueueExtent extent = QueueExtent.of(directory, home.host().files());
        String why = proof.orElse("its worker opened it once");
        if (extent.lost().isPresent()) {
            missing(journal, queue, extent.lost().get(), "the file is gone: the queue's table lists it, as the newest");
        } else if (extent.newest().isEmpty() && (proof.isPresent() || extent.wasReady())) {
            missing(
                    journal,
                    queue,
                    extent.empty().orElse(directory),
                    (extent.empty().isPresent() ? "the file is empty" : "the queue has no file") + ", and " + why
                            + ": what it held is lost");
        }
        return extent;
    }

    private void missing(StoredJournal journal, JournalQueue queue, Path file, String text) {
        findings.accept(new Finding(
                Severity.DAMAGE,
                Kind.MISSING,
                Optional.of(journal.info()),
                Optional.of(queue),
                Optional.of(file),
                0,
                0,
                text));
    }

    /** Checks the contents of the queue's files apart from the records. */
    void checkStructure(StoredJournal journal, JournalQueue queue) throws IOException {
        Path directory = queue.in(journal.path());
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        StructureCheck.check(directory, home.host().files(), new StructureFindings() {
            @Override
            public void damaged(Damage damage) {
                find(Severity.DAMAGE, damage);
            }

            @Override
            public void noted(Damage damage) {
                find(Severity.NOTE, damage);
            }

            private void find(Severity severity, Damage damage) {
                findings.accept(new Finding(
                        severity,
                        Kind.STRUCTURE,
                        Optional.of(journal.info()),
                        Optional.of(queue),
                        Optional.of(damage.file()),
                        damage.from(),
                        damage.to(),
                        damage.text()));
            }
        });
    }

    private void find(
            Severity severity, StoredJournal journal, Optional<JournalQueue> queue, String file, String text) {
        findings.accept(new Finding(
                severity,
                Kind.UNREADABLE,
                Optional.of(journal.info()),
                queue,
                Optional.of(journal.path().resolve(file)),
                0,
                0,
                text));
    }
}
