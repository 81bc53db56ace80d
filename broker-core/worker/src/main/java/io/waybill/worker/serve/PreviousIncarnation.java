package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.home.WorkerDirectory;
import io.waybill.wire.RecordView;

/** Knowledge of the worker's previous incarnations. Immutable. */
public final class PreviousIncarnation {

    /** Mask of the part of an epoch that records contain: the low 32 bits. */
    private static final long MASK_OF_RECORDED = 0xffff_ffffL;

    private final long epoch;
    private final boolean sameBoot;
    private final boolean cursorsAreExact;
    private final long continued; // number of incarnations before this one that left in order what they had not begun

    private PreviousIncarnation(long epoch, long firstEpoch, boolean sameBoot, boolean cursorsAreExact) {
        this.epoch = epoch & MASK_OF_RECORDED;
        this.continued = epoch - firstEpoch;
        this.sameBoot = sameBoot;
        this.cursorsAreExact = cursorsAreExact;
    }

    public static PreviousIncarnation of(WorkerDirectory directory) {
        return new PreviousIncarnation(
                directory.epoch(),
                directory.succession().firstEpoch(),
                !directory.isAfterBoot(),
                directory.cursorsAreExact());
    }

    /** Returns whether the cursors show exactly how far the previous incarnation has read. */
    public boolean cursorsAreExact() {
        return cursorsAreExact;
    }

    /** Returns whether a request was sent to a previous incarnation. */
    boolean isFor(RecordView request) {
        return request.epoch() != epoch;
    }

    /**
     * Returns whether a request was sent to an incarnation that this one continues, and so is run if it was not begun.
     */
    boolean isContinued(RecordView request) {
        return (epoch - request.epoch() & MASK_OF_RECORDED) <= continued;
    }

    /**
     * Returns whether a request to a previous incarnation has a deadline on a clock that has restarted since. No caller
     * waits for it any more.
     */
    boolean isFromEarlierBoot(RecordView request) {
        return !sameBoot && request.deadlineNs() != 0;
    }

    /**
     * Returns the error of a request to a previous incarnation, or of a request that was sent before, which may not be
     * run again.
     */
    Failure lost(RecordView request, Delivered delivered) {
        String call = "call " + MessageId.text(request.id());
        return Failure.of(
                ErrorCode.WORKER_LOST,
                request.to(),
                delivered == Delivered.AGAIN
                        ? call + " was sent before to this worker, which may have begun it and did not respond"
                        : call + " was sent to incarnation " + request.epoch()
                                + " of this worker, which did not begin it; this is incarnation " + epoch);
    }

    /** Returns the epoch of this incarnation, as recorded. */
    public long epoch() {
        return epoch;
    }
}
