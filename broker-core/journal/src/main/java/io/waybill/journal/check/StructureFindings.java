package io.waybill.journal.check;

import io.waybill.journal.Damage;

/** Receiver of the findings of {@link StructureCheck}. Called by its thread. */
public interface StructureFindings {

    /** Reports damage: data that differs from what was written, or that prevents reading or writing the queue. */
    void damaged(Damage damage);

    /** Reports remains of a crash that readers and writers of the queue handle. */
    void noted(Damage damage);
}
