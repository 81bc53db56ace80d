package io.waybill.journal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A disk on which nothing is reserved: files take what is written to them. Immutable. */
public class UnreservedDisk implements DiskSpace {

    /** Reserves space. */
    @FunctionalInterface
    public interface Reserving {
        void reserve(Path file, long offset, long length) throws IOException;
    }

    /** Returns a disk that reserves in this way, and else is like this one. */
    public static DiskSpace by(Reserving reserving) {
        return new UnreservedDisk() {
            @Override
            public void reserve(Path file, long offset, long length) throws IOException {
                reserving.reserve(file, offset, length);
            }
        };
    }

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        // there is room
    }

    @Override
    public void remove(Path file) throws IOException {
        Files.deleteIfExists(file);
    }
}
