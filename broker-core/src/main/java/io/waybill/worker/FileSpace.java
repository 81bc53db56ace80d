package io.waybill.worker;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reserves space in the worker's own files. Thread-safe. */
record FileSpace(SafeFiles files) implements DiskSpace {

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        // looked at first: ext4 keeps what an attempt got before it failed, and so takes all that others could have
        long left = Files.getFileStore(file.getParent()).getUsableSpace();
        if (left < length) {
            throw new IOException(
                    "no room for " + length + " bytes on the disk of " + file + ", which has " + left + " bytes left");
        }
        try (NativeFile opened = files.openOwnNative(file)) {
            opened.reserve(offset, length);
        }
    }

    @Override
    public void fill(Path file, long offset, long length) throws IOException {
        try (NativeFile opened = files.openOwnNative(file)) {
            opened.writeZeros(offset, length);
        }
    }
}
