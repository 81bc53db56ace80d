package io.waybill.journal;

import java.io.IOException;
import java.nio.file.Path;

/** Reserves disk space, so that writing into it later can't fail. Thread-safe. */
@FunctionalInterface
public interface DiskSpace {

    /**
     * Reserves the blocks of {@code file} from {@code offset} on, without changing its size. Creates the file, mode 0600, when it is
     * missing.
     *
     * @throws IOException when there is no room
     */
    void reserve(Path file, long offset, long length) throws IOException;
}
