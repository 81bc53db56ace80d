package io.waybill.journal;

import java.io.IOException;
import java.nio.file.Path;

/** Disk space that is reserved ahead of the writer, and files that take none. Thread-safe. */
public interface DiskSpace {

    /**
     * Reserves the blocks of {@code file} from {@code offset} on, without changing its size. Creates the file, with
     * mode 0600, when it is missing.
     *
     * @throws IOException when there is no room
     */
    void reserve(Path file, long offset, long length) throws IOException;

    /** Removes a file without records; does nothing when there is none. */
    void remove(Path file) throws IOException;

    /**
     * Writes zeros over a range that was reserved and never written, which loads its pages into memory. If this does
     * nothing, the writer loads them.
     */
    default void fill(Path file, long offset, long length) throws IOException {}

    /**
     * Releases a range that was reserved and is not written. No process extends the file meanwhile. If a release is
     * impossible, the range stays reserved.
     */
    default void giveBack(Path file, long offset, long length) {}

    /**
     * Releases the pages of a range that hold only zeros, which changes nothing of what readers see. The writer has
     * ended. If a release is impossible, the pages stay.
     */
    default void giveBackZeros(Path file, long offset, long length) {}
}
