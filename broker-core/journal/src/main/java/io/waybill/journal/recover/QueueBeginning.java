package io.waybill.journal.recover;

import io.waybill.api.MessageId;
import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.RollFile;
import io.waybill.journal.check.StructureCheck;
import io.waybill.journal.read.LastRecord;
import io.waybill.journal.read.RespondedIds;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Start of a queue's writer in this incarnation, chosen so that no sequence and no id is used twice: neither those lost
 * in a power cut, nor those in lost files, nor those that a peer may remember.
 *
 * <p><b>Threads.</b> The thread that joins. Call under the worker's lock: no other process may write here.
 */
public final class QueueBeginning {

    /**
     * Number of lost ids that are skipped: more calls than a worker makes in the time for which a kernel keeps
     * unwritten data.
     */
    private static final long LOST_IDS = 1L << 32;

    /** Max size written between two notes of a worker's position. */
    private static final long MAX_UNNOTED_BYTES = 256L << 20;
    /**
     * Max distance of a claim from the known ids and records: more than a worker makes while its host runs, so a claim
     * beyond is damage.
     */
    private static final long MAX_BEYOND = 1L << 40;

    private static final long NS_PER_MS = 1_000_000;
    private static final Logger LOG = LoggerFactory.getLogger(QueueBeginning.class);

    private final Path directory;
    private final JournalSettings settings;
    private final SafeFiles files;
    private final QueueEvidence evidence;
    private final int presentCycle;
    private final Optional<BootMark> before;
    private BootMark now;
    private String loss = "";
    private long lostFrom;
    private long lostTo;

    private QueueBeginning(
            Path directory,
            JournalSettings settings,
            Host host,
            QueueEvidence evidence,
            Optional<BootMark> before,
            BootMark now) {
        this.directory = directory;
        this.settings = settings;
        this.files = host.files();
        this.evidence = evidence;
        this.presentCycle = settings.roll().numberAt(host.clock().wallNs() / NS_PER_MS);
        this.before = before;
        this.now = now;
    }

    /**
     * Checks whether the host was restarted since the queue was written, and if so recovers it.
     *
     * @param epoch epoch of the worker
     * @param onDiskBefore index before which records were on the disk, as noted by the last incarnation; less than 1
     * when it was not
     * @param evidence evidence of the extent to which the queue was written
     * @throws IOException when a damaged queue could not be recovered
     */
    public static QueueBeginning find(
            Path directory,
            JournalSettings settings,
            Host host,
            DiskSpace disk,
            long epoch,
            long onDiskBefore,
            QueueEvidence evidence)
            throws IOException {
        SafeFiles files = host.files();
        String boot = host.processes().self().bootId();
        Optional<BootMark> before = BootMark.read(directory, files);
        if (before.isPresent() && before.get().boot().equals(boot)) {
            return new QueueBeginning(directory, settings, host, evidence, before, before.get());
        }
        if (epoch <= 1 && before.isEmpty() && RollFile.in(directory, files).isEmpty()) {
            return new QueueBeginning(directory, settings, host, evidence, before, new BootMark(boot, 0, 0));
        }
        boolean failed = before.map(mark -> mark.boot().equals(BootMark.FAILED)).orElse(false);
        PowerCut cut = new PowerCut(directory, settings, files, disk, onDiskBefore);
        PowerCut.Recovered recovered = failed ? cut.rewrite() : cut.recover();
        long wallMs = host.clock().wallNs() / NS_PER_MS;
        int newest =
                Math.max(recovered.lastCycle(), before.map(BootMark::firstCycle).orElse(0));
        int used = RollFile.oldest(directory, files)
                .map(oldest -> settings.roll().numberAfter(oldest.cycle(), newest, wallMs))
                .orElse(Math.max(newest, settings.roll().firstNumber(wallMs)));
        // not even the names of the files that were begun last need be left
        int cycle = used + 2 + (int) (PowerCut.MAX_UNWRITTEN_BYTES / settings.fileBytes());
        long counter = Math.max(
                        recovered.nextCounter(),
                        before.map(BootMark::firstCounter).orElse(0L))
                + LOST_IDS;
        return new QueueBeginning(directory, settings, host, evidence, before, new BootMark(boot, cycle, counter));
    }

    /** Returns the number of the first file that may be written. */
    public int firstCycle() {
        return now.firstCycle();
    }

    /** Returns the min counter of an id that may be assigned. */
    public long firstCounter() {
        return now.firstCounter();
    }

    /**
     * Compares the remaining queue with the evidence. If records were lost, the queue continues in a new file after all
     * positions at which a reader may stand, with sequences after the known ones, and with ids far after them.
     *
     * @param last remaining record
     * @return the record, with the greatest known sequence
     */
    public LastRecord reconcile(LastRecord last) throws IOException {
        QueueEvidence.Claim furthest = furthest(last);
        if (furthest == null) {
            noticeRemoved();
            return last;
        }
        Roll roll = settings.roll();
        int cycle = roll.cycleOf(furthest.endIndex());
        boolean known = before.isPresent() && cycle < before.get().firstCycle();
        boolean stands = roll.sequenceInFile(furthest.endIndex()) == 0; // a reader is in a file without a record
        if (known || stands && furthest.nextSequence() <= last.sequence() + 1) {
            now = new BootMark(now.boot(), Math.max(now.firstCycle(), cycle), now.firstCounter());
            return last.withSequence(furthest.nextSequence() - 1);
        }
        requireWhole();
        int first = Math.max(cycle, last.cycle()) + 2 + (int) (MAX_UNNOTED_BYTES / settings.fileBytes());
        lostFrom = last.id() == MessageId.NONE ? 0 : MessageId.counter(last.id()) + 1;
        lostTo = nextCounter(last);
        long counter = Math.max(now.firstCounter(), lostTo + LOST_IDS);
        now = new BootMark(now.boot(), Math.max(now.firstCycle(), first), counter);
        loss = loss(furthest, last);
        LOG.warn(
                "{} New records go into files from {} on{}. Restore the files from a copy, if there is one, before this"
                        + " worker is used on",
                loss,
                roll.fileName(now.firstCycle()),
                evidence.responses().isEmpty() ? "" : ", and message ids go on with counter " + counter);
        return last.withSequence(furthest.nextSequence() - 1);
    }

    /** Throws when present data is damaged: it may be restored from a copy, so nothing is written after it. */
    private void requireWhole() {
        boolean madeWhole = !before.map(BootMark::boot).equals(Optional.of(now.boot()));
        String damage = madeWhole ? "" : StructureCheck.firstDamage(directory, settings, files);
        if (!damage.isEmpty()) {
            throw new IllegalStateException(damage);
        }
    }

    /**
     * Returns the furthest possible claim behind the remaining queue, with the greatest sequence; null when there is
     * none.
     */
    private QueueEvidence.Claim furthest(LastRecord last) {
        Roll roll = settings.roll();
        int maxCycle = Math.max(presentCycle, Math.max(last.cycle(), now.firstCycle())) + roll.maxNumbers() / 10;
        QueueEvidence.Claim furthest = null;
        long nextSequence = 0;
        for (QueueEvidence.Claim claim : evidence.claims()) {
            boolean possible =
                    roll.cycleOf(claim.endIndex()) <= maxCycle && claim.nextSequence() <= last.sequence() + MAX_BEYOND;
            if (claim.endIndex() > last.index() + 1 && !possible) {
                LOG.warn(
                        "{}: {} claims that it was written up to index 0x{}, which can't be; the claim is not believed",
                        directory,
                        claim.witness(),
                        Long.toHexString(claim.endIndex()));
            } else if (claim.endIndex() > last.index() + 1) {
                nextSequence = Math.max(nextSequence, claim.nextSequence());
                furthest = furthest == null || claim.endIndex() > furthest.endIndex() ? claim : furthest;
            }
        }
        return furthest == null ? null : new QueueEvidence.Claim(furthest.witness(), furthest.endIndex(), nextSequence);
    }

    /** Returns a counter above those of all ids that are known to have been assigned. */
    private long nextCounter(LastRecord last) throws IOException {
        long known = last.id() == MessageId.NONE ? 0 : MessageId.counter(last.id()) + 1;
        long max = Math.max(known, now.firstCounter()) + MAX_BEYOND;
        if (evidence.nextCounter() <= max) {
            known = Math.max(known, evidence.nextCounter());
        }
        for (Path responses : evidence.responses()) {
            long responded = RespondedIds.nextCounter(responses, evidence.workerId(), settings, files);
            known = responded <= max ? Math.max(known, responded) : known;
        }
        return known;
    }

    private String loss(QueueEvidence.Claim claim, LastRecord last) {
        Roll roll = settings.roll();
        String left = last.index() < 0
                ? "no record is there"
                : "the last one that is there is record " + last.sequence() + " in "
                        + roll.fileName(roll.cycleOf(last.index()));
        return "Records of " + directory + " are lost: " + claim.witness() + " says that they reached to number "
                + roll.sequenceInFile(claim.endIndex()) + " of " + roll.fileName(roll.cycleOf(claim.endIndex()))
                + ", and "
                + left + ". A file was removed, replaced or cut.";
    }

    /** Notes the loss of the oldest files, which can be lost, too: retention notes the files that it removes. */
    private void noticeRemoved() throws IOException {
        List<RollFile> there = RollFile.in(directory, files);
        if (evidence.oldestCycle() >= 0 && !there.isEmpty() && there.get(0).cycle() > evidence.oldestCycle()) {
            loss = "Files of " + directory + " are lost: the oldest one should be "
                    + settings.roll().fileName(evidence.oldestCycle()) + ", and is "
                    + there.get(0).path().getFileName()
                    + ".";
            LOG.warn("{} Restore them from a copy, if there is one", loss);
        }
    }

    /** Returns a description of the lost part of the queue; empty when nothing is lost. */
    public String loss() {
        return loss;
    }

    /** Returns the counter of the first id that may have been assigned to a message in the lost files. */
    public long lostFrom() {
        return lostFrom;
    }

    /**
     * Returns the counter after the last id that is known to have been assigned; not above {@link #lostFrom} when
     * nothing is lost.
     */
    public long lostTo() {
        return lostTo;
    }

    /** Notes that the queue was opened: from now on this boot has nothing to repair. */
    public void opened() throws IOException {
        if (before.isEmpty() && now.firstCycle() == 0 && now.firstCounter() == 0) {
            now.writeUnsynced(directory, files);
        } else if (!before.equals(Optional.of(now))) {
            now.write(directory, files);
        }
    }

    /** Notes that a sync of the queue failed: the next incarnation rewrites the data that is not on the disk. */
    public static void failed(Path directory, SafeFiles files) throws IOException {
        BootMark mark = BootMark.read(directory, files).orElse(new BootMark(BootMark.FAILED, 0, 0));
        new BootMark(BootMark.FAILED, mark.firstCycle(), mark.firstCounter()).writeUnsynced(directory, files);
    }
}
