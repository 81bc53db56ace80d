package io.waybill.journal.append;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A mapped block of the file that a journal writes, whose pages may be loaded into memory before they are written. A
 * stale one is harmless, because loading pages does not change them.
 *
 * @param file of the block; null for none
 * @param baseAddress the address of position 0 of the file
 * @param end the first position after the block
 */
public record Touchable(Path file, long baseAddress, long end) {

    /** No block is mapped yet. */
    static final Touchable NOTHING = new Touchable(null, 0, 0);

    /** Loads pages of a block into memory, so that they can be written. */
    @FunctionalInterface
    public interface Pages {

        /** Loads the pages between two positions in the file, at most a mebibyte. */
        void touch(long from, long to) throws IOException;
    }

    static Touchable around(Path file, long address, long position, long blockBytes) {
        return new Touchable(file, address - position, (position / blockBytes + 1) * blockBytes);
    }
}
