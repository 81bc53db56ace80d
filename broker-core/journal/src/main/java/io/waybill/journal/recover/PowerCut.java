package io.waybill.journal.recover;

import io.waybill.api.MessageId;
import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RollFile;
import io.waybill.journal.check.FileCheck;
import io.waybill.journal.check.StructureFindings;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Recovers a queue after a power cut that may have lost pages. The kernel writes pages in any order: at the end there
 * can be holes with complete records after them, and Chronicle's notes can be older or newer than the records. Every
 * record before the first incomplete one remains. A file that does not exactly match its records is rewritten from
 * them; the rest after the first hole is copied to a file with the suffix {@value #SET_ASIDE}, which nothing reads
 * again.
 *
 * <p>Damage in data that was already on the disk, or long before the end, does not come from a power cut: it is left to
 * {@code journal verify}.
 *
 * <p><b>Threads.</b> One, once, under the worker's lock. <b>Errors.</b> When it is interrupted at any point, it starts
 * from scratch the next time.
 */
final class PowerCut {

    static final String SET_ASIDE = ".cut";

    private static final Logger LOG = LoggerFactory.getLogger(PowerCut.class);
    /** Max size of the newest files that is checked if nothing was synced: more than a kernel keeps unwritten. */
    static final long MAX_UNWRITTEN_BYTES = 2L << 30;
    /** Time that is longer than a kernel keeps anything unwritten. */
    private static final long MAX_UNWRITTEN_NS = 600_000_000_000L;

    private final Path directory;
    private final JournalSettings settings;
    private final SafeFiles files;
    private final RewrittenFile rewritten;
    private final long onDiskBefore;
    private final List<Suspicion> suspicions = new ArrayList<>();
    private final Set<RollFile> withRecords = new HashSet<>();

    private long lastSentNs;
    private long nextSequence = -1;
    private long nextCounter;
    private int lastCycle;

    PowerCut(Path directory, JournalSettings settings, SafeFiles files, DiskSpace disk, long onDiskBefore) {
        this.directory = directory;
        this.settings = settings;
        this.files = files;
        this.rewritten = new RewrittenFile(directory, settings, files, disk);
        this.onDiskBefore = onDiskBefore;
    }

    /**
     * First position with incomplete data.
     *
     * @param file file that contains it
     * @param kept number of records of the file before it
     * @param index index of the record that would be there
     * @param sentNs time at which the record before it was sent
     * @param nextCounter next counter before it
     */
    private record Suspicion(RollFile file, int kept, long index, long sentNs, long nextCounter, String text) {}

    /** Recovers the queue. */
    Recovered recover() throws IOException {
        return recover(false);
    }

    /**
     * Recovers the queue, and rewrites all data that may not be on the disk, complete or not: the kernel no longer
     * knows that it is not.
     */
    Recovered rewrite() throws IOException {
        return recover(true);
    }

    private Recovered recover(boolean all) throws IOException {
        rewritten.removeLeftovers();
        List<RollFile> suspects = suspects();
        if (suspects.isEmpty()) {
            return new Recovered(lastCycle, 0);
        }
        read(suspects);
        Suspicion cut = cut();
        for (RollFile file : suspects) {
            int order = cut == null ? -1 : file.compareTo(cut.file);
            if (order > 0 || order == 0 && cut.kept == 0) {
                setAside(file);
            } else if (order == 0) {
                Files.copy(file.path(), aside(file), StandardCopyOption.REPLACE_EXISTING);
                rewritten.write(file, cut.kept);
            } else if (!withRecords.contains(file) && !isSuspect(file)) {
                Files.delete(file.path()); // begun, and nothing in it
            } else if (all || !isSuspect(file) && !isExact(file, file != suspects.get(suspects.size() - 1))) {
                rewritten.write(file, Integer.MAX_VALUE);
            }
        }
        Files.deleteIfExists(directory.resolve(QueueStructure.TABLE)); // recreated from the files
        files.syncParent(suspects.get(0).path());
        if (cut == null) {
            return new Recovered(lastCycle, nextCounter);
        }
        LOG.warn(
                "{}: a power cut or a failure left no whole records from index 0x{} on, at {}: {}; what lies there is set aside",
                directory,
                Long.toHexString(cut.index),
                cut.file.path().getFileName(),
                cut.text);
        return new Recovered(lastCycle, cut.nextCounter);
    }

    /** Returns the files that may be partly missing on the disk, oldest first. */
    private List<RollFile> suspects() throws IOException {
        List<RollFile> all = RollFile.in(directory, files);
        int first = all.size();
        long bytes = 0;
        while (first > 0) {
            RollFile file = all.get(first - 1);
            lastCycle = Math.max(lastCycle, file.cycle());
            boolean mayBeUnwritten = onDiskBefore < 1
                    ? first > all.size() - 2 || bytes < MAX_UNWRITTEN_BYTES
                    : file.cycle() >= settings.roll().cycleOf(onDiskBefore);
            if (!mayBeUnwritten) {
                break;
            }
            first--;
            bytes += Files.size(file.path());
        }
        return all.subList(first, all.size());
    }

    private void read(List<RollFile> suspects) throws IOException {
        for (RollFile file : suspects) {
            try (QueueReader reader = QueueReader.openFile(directory, file, files, settings)) {
                read(file, reader);
            }
        }
    }

    private void read(RollFile file, QueueReader reader) throws IOException {
        int kept = 0;
        boolean sound = true;
        Step step = reader.next();
        while (step != Step.END || (step = reader.searchBehindEnd()) == Step.DAMAGED) {
            RecordView record = reader.record();
            boolean follows = step == Step.RECORD && (nextSequence < 0 || record.sequence() == nextSequence);
            if (!follows && sound) {
                suspect(file, kept, step == Step.DAMAGED ? reader.damage().text() : "records are missing before it");
            }
            sound = follows;
            if (step == Step.RECORD) {
                kept = (int) settings.roll().sequenceInFile(reader.index()) + 1;
                withRecords.add(file);
                nextSequence = record.sequence() + 1;
                lastSentNs = record.sentNs();
                nextCounter = MessageId.counter(record.id()) + 1;
            }
            step = reader.next();
        }
    }

    private void suspect(RollFile file, int kept, String text) {
        long index = settings.roll().indexOf(file.cycle(), kept);
        suspicions.add(new Suspicion(file, kept, index, lastSentNs, nextCounter, text));
    }

    /** Returns the first position that a power cut may have damaged; null when there is none. */
    private Suspicion cut() {
        for (Suspicion suspicion : suspicions) {
            boolean unsynced = onDiskBefore < 1
                    ? suspicion.sentNs == 0 || lastSentNs - suspicion.sentNs <= MAX_UNWRITTEN_NS
                    : suspicion.index >= onDiskBefore;
            if (unsynced) {
                return suspicion;
            }
        }
        return null;
    }

    /** Returns whether a part of a file is incomplete. */
    private boolean isSuspect(RollFile file) {
        return suspicions.stream().anyMatch(suspicion -> suspicion.file.equals(file));
    }

    /**
     * Returns whether a file matches its records exactly, to the byte.
     *
     * @param hasNewer whether it must have its end mark, because a newer file follows
     */
    private boolean isExact(RollFile file, boolean hasNewer) throws IOException {
        boolean[] found = new boolean[1];
        StructureFindings any = new StructureFindings() {
            @Override
            public void damaged(Damage damage) {
                found[0] = true;
            }

            @Override
            public void noted(Damage damage) {
                found[0] = true;
            }
        };
        try (FileCheck check = new FileCheck(file, files, any)) {
            check.check(hasNewer);
        }
        return !found[0];
    }

    private void setAside(RollFile file) throws IOException {
        Files.move(file.path(), aside(file), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    private static Path aside(RollFile file) {
        return file.path().resolveSibling(file.path().getFileName() + SET_ASIDE);
    }

    /**
     * Result of a recovery. Immutable.
     *
     * @param lastCycle greatest number that a file of the queue has or had; 0 when there is none
     * @param nextCounter value after the counter of the last id; 0 when there is none
     */
    record Recovered(int lastCycle, long nextCounter) {}
}
