package io.waybill.worker;

import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.cursor.Cursors;
import io.waybill.wire.RecordView;
import java.util.Optional;

/** What a worker knows of its lives before this one. Immutable. */
final class EarlierLife {

    /** A record has the low 32 bits of a generation. */
    private static final long MASK_OF_RECORDED = 0xffff_ffffL;

    private final long generation;
    private final boolean sameBoot;
    private final boolean cursorsKept;

    private EarlierLife(long generation, boolean sameBoot, boolean cursorsKept) {
        this.generation = generation & MASK_OF_RECORDED;
        this.sameBoot = sameBoot;
        this.cursorsKept = cursorsKept;
    }

    static EarlierLife of(WorkerDirectory directory) {
        Optional<WorkerRecord> previous = directory.previous();
        boolean sameBoot = previous.isPresent()
                && previous.get()
                        .process()
                        .bootId()
                        .equals(directory.record().process().bootId());
        return new EarlierLife(
                directory.generation(), sameBoot, directory.cursors().origin() == Cursors.Origin.KEPT);
    }

    /** Whether the cursors say how far the life before has read: not when they were replaced, or the host went down with them. */
    boolean cursorsAreExact() {
        return sameBoot && cursorsKept || generation == 1;
    }

    /** Whether a request was sent to a life before this one. */
    boolean isFor(RecordView request) {
        return request.generation() != generation;
    }

    /** Whether a request to an earlier life has a deadline on a clock that began anew since. Nobody waits for it any more. */
    boolean isFromEarlierBoot(RecordView request) {
        return !sameBoot && request.deadlineNs() != 0;
    }

    /** Of this life, as records have it. */
    long generation() {
        return generation;
    }
}
