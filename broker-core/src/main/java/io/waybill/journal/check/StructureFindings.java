package io.waybill.journal.check;

import io.waybill.journal.Damage;

/** Takes what {@link StructureCheck} finds. Called by its thread. */
public interface StructureFindings {

    /** What is there is not what was written, or prevents that the queue is read or written. */
    void damaged(Damage damage);

    /** What a crash may leave, and readers and writers of the queue cope with. */
    void noted(Damage damage);
}
