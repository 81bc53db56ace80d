package io.waybill.journal.append;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A mapped block of the file that a journal writes: pages in it may be brought into memory before they are written. A stale one does no
 * harm, because bringing pages in changes nothing in them.
 *
 * @param file that it is a block of; null for none
 * @param baseAddress the address at which position 0 of the file would lie
 * @param end the first position behind the block
 */
public record Touchable(Path file, long baseAddress, long end) {

    /** No block is mapped yet. */
    static final Touchable NOTHING = new Touchable(null, 0, 0);

    /** Brings pages of a block into memory, so that they can be written. */
    @FunctionalInterface
    public interface Pages {

        /** From one position in the file to another, at most a mebibyte. */
        void touch(long from, long to) throws IOException;
    }

    static Touchable around(Path file, long address, long position, long blockBytes) {
        return new Touchable(file, address - position, (position / blockBytes + 1) * blockBytes);
    }
}
