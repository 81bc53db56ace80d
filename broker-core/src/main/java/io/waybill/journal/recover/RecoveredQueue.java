package io.waybill.journal.recover;

/**
 * What a {@link PowerCut} left of a queue. Immutable.
 *
 * @param lastCycle the greatest number that a file of the queue has or had; 0 when there is none
 * @param nextCounter behind the counter of the last id; 0 when there is none
 */
record RecoveredQueue(int lastCycle, long nextCounter) {}
