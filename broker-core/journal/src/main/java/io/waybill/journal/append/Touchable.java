package io.waybill.journal.append;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Mapped block of the file that a journal writes, whose pages may be loaded into memory before they are written. A
 * stale block is harmless, because loading pages does not change them.
 *
 * @param file file of the block; null for none
 * @param baseAddress address of position 0 of the file
 * @param end first position after the block
 */
public record Touchable(Path file, long baseAddress, long end) {

    /** Value while no block is mapped. */
    static final Touchable NOTHING = new Touchable(null, 0, 0);

    /** Loader of the pages of a block into memory, so that they can be written. */
    @FunctionalInterface
    public interface Pages {

        /** Loads the pages between two positions in the file, at most a mebibyte. */
        void touch(long from, long to) throws IOException;
    }

    static Touchable around(Path file, long address, long position, long blockBytes) {
        return new Touchable(file, address - position, (position / blockBytes + 1) * blockBytes);
    }
}
