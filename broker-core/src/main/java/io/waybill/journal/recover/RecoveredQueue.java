package io.waybill.journal.recover;

/**
 * Result of a {@link PowerCut} recovery. Immutable.
 *
 * @param lastCycle the greatest number that a file of the queue has or had; 0 when there is none
 * @param nextCounter after the counter of the last id; 0 when there is none
 */
record RecoveredQueue(int lastCycle, long nextCounter) {}
