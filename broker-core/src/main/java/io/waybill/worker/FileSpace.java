package io.waybill.worker;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import java.io.IOException;
import java.nio.file.Path;

/** Reserves space in the worker's own files. Thread-safe. */
record FileSpace(SafeFiles files) implements DiskSpace {

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        try (NativeFile opened = files.openOwnNative(file)) {
            opened.reserve(offset, length);
        }
    }
}
