package io.waybill.journal.check;

import io.waybill.journal.Damage;

/** Takes what {@link StructureCheck} finds. Called by its thread. */
public interface StructureFindings {

    /** What is there is not what was written, or keeps somebody from reading or writing the queue. */
    void damaged(Damage damage);

    /** What a crash may leave, and whoever reads or writes the queue gets over. */
    void noted(Damage damage);
}
