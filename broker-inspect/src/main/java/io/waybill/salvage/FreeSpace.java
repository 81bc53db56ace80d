package io.waybill.salvage;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reserves space in the files of the new home. Thread-safe. */
record FreeSpace(SafeFiles files) implements DiskSpace {

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        requireRoom(file, length);
        try (NativeFile opened = files.openOwnNative(file)) {
            opened.reserve(offset, length);
        }
    }

    @Override
    public void remove(Path file) throws IOException {
        files.remove(file);
    }

    /** Checks whether the disk of a file that may not exist yet has this much space left. */
    static void requireRoom(Path file, long bytes) throws IOException {
        long left = Files.getFileStore(file.getParent()).getUsableSpace();
        if (left < bytes) {
            throw new IOException(
                    "no room for " + bytes + " bytes on the disk of " + file + ", which has " + left + " bytes left");
        }
    }
}
