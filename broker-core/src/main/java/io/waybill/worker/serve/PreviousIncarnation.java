package io.waybill.worker.serve;

import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.cursor.Cursors;
import io.waybill.wire.RecordView;
import java.util.Optional;

/** What a worker knows of its incarnations before this one. Immutable. */
public final class PreviousIncarnation {

    /** A record has the low 32 bits of an epoch. */
    private static final long MASK_OF_RECORDED = 0xffff_ffffL;

    private final long epoch;
    private final boolean sameBoot;
    private final boolean cursorsKept;

    private PreviousIncarnation(long epoch, boolean sameBoot, boolean cursorsKept) {
        this.epoch = epoch & MASK_OF_RECORDED;
        this.sameBoot = sameBoot;
        this.cursorsKept = cursorsKept;
    }

    public static PreviousIncarnation of(WorkerDirectory directory) {
        Optional<WorkerRecord> previous = directory.previous();
        boolean sameBoot = previous.isPresent()
                && previous.get()
                        .process()
                        .bootId()
                        .equals(directory.record().process().bootId());
        return new PreviousIncarnation(
                directory.epoch(), sameBoot, directory.cursors().origin() == Cursors.Origin.KEPT);
    }

    /** Whether the cursors say how far the incarnation before has read: not when they were replaced, or the host went down with them. */
    public boolean cursorsAreExact() {
        return sameBoot && cursorsKept || epoch == 1;
    }

    /** Whether a request was sent to an incarnation before this one. */
    boolean isFor(RecordView request) {
        return request.epoch() != epoch;
    }

    /** Whether a request to an earlier incarnation has a deadline on a clock that was restarted since. No caller waits for it any more. */
    boolean isFromEarlierBoot(RecordView request) {
        return !sameBoot && request.deadlineNs() != 0;
    }

    /** Of this incarnation, as records have it. */
    public long epoch() {
        return epoch;
    }
}
