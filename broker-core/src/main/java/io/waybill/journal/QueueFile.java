package io.waybill.journal;

import java.nio.file.Path;

/**
 * A file of a queue, as found in its directory. Immutable.
 *
 * @param cycle its number among the queue's files, in the order of writing
 * @param bytes its size on the disk, reserved space included, together with its archive
 * @param lastWrittenMs wall clock in ms since 1970
 */
public record QueueFile(JournalQueue queue, Path path, int cycle, long bytes, long lastWrittenMs) {}
