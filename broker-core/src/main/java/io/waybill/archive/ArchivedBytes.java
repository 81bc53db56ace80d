package io.waybill.archive;

import java.io.IOException;

/** Where an {@link ArchiveWriter} takes the bytes of a storage from. For one thread. */
interface ArchivedBytes {

    long size();

    /**
     * Reads into native memory.
     *
     * @return how many bytes, at least 1
     * @throws IOException when they can't be read
     */
    long read(long offset, long address, long length) throws IOException;

    /** Asked when all was read: whether what was read is what was sent, as far as anybody can tell. */
    boolean isStillThere();
}
