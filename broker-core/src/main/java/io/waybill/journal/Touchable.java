package io.waybill.journal;

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

    static Touchable around(Path file, long address, long position, long blockBytes) {
        return new Touchable(file, address - position, (position / blockBytes + 1) * blockBytes);
    }
}
