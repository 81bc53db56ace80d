package io.waybill.rref.status;

/**
 * Result of draining the references of a worker.
 *
 * @param complete whether nothing was left before the limit
 * @param left what was left
 * @param text PyTorch's sentences about what was left; empty when complete
 */
public record DrainReport(boolean complete, RRefCounters left, String text) {}
