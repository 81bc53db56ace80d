package io.waybill.rref.status;

/**
 * How the references of a worker ended.
 *
 * @param complete whether nothing was left before the limit
 * @param left what was left
 * @param text for people: PyTorch's sentences where it waited without success; empty when complete
 */
public record DrainReport(boolean complete, RRefCounters left, String text) {}
