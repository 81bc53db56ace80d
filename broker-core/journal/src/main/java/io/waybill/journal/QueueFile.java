package io.waybill.journal;

import java.nio.file.Path;

/**
 * File of a queue, as found in its directory. Immutable.
 *
 * @param file its path, roll cycle and number
 * @param bytes its size on the disk, reserved space included, together with its archive
 * @param lastWrittenMs wall clock in ms since 1970
 */
public record QueueFile(JournalQueue queue, RollFile file, long bytes, long lastWrittenMs) {

    public Path path() {
        return file.path();
    }

    /** Returns the number of the file among the queue's files, in the order of writing. */
    public int cycle() {
        return file.cycle();
    }
}
