package io.waybill.archive;

/**
 * What one process of a worker keeps of one of its queues. Immutable.
 *
 * @param epoch of the worker
 * @param firstSequence of the first message that this process put into the queue
 * @param maxStorageBytes of a storage that is kept
 */
record ArchiveSession(ArchivePolicy policy, long epoch, long firstSequence, long maxStorageBytes) {}
