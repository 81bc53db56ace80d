package io.waybill.rref.status;

/**
 * Result of draining the references of a worker.
 *
 * @param complete whether no reference was left before the limit
 * @param left counts of references that were left
 * @param text PyTorch's sentences about these references; empty when complete
 */
public record DrainReport(boolean complete, RRefCounters left, String text) {}
