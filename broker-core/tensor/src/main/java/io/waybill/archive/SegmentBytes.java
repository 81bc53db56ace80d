package io.waybill.archive;

import io.waybill.api.CallException;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Reads waiting storages from the segments' files, at the pace that the calls allow, by positional reads: any change of
 * a file causes no more than an error.
 *
 * <p><b>Threads.</b> For the archive's thread. <b>Ownership.</b> Keeps the last segment open until {@link #close},
 * which may be called repeatedly.
 */
final class SegmentBytes implements ArchiveWriter.Content, Closeable {

    private final SafeFiles files;
    private final CopyPace pace;
    private WaitingStorage storage;
    private Path path;
    private NativeFile segment; // null: none is open

    SegmentBytes(SafeFiles files, CopyPace pace) {
        this.files = files;
        this.pace = pace;
    }

    /** Sets the storage to read. */
    SegmentBytes of(WaitingStorage next) {
        storage = next;
        return this;
    }

    @Override
    public long size() {
        return storage.size;
    }

    @Override
    public long read(long offset, long address, long length) throws IOException {
        pace.next(length);
        Path file;
        try {
            storage.bytes.copyToSegment(); // if it is on a device
            file = storage.bytes.segment();
        } catch (CallException | IllegalStateException e) { // no converter, or dropped meanwhile
            throw new IOException(e.getMessage(), e);
        }
        if (!file.equals(path)) {
            close();
            segment = files.openNative(file, Long.MAX_VALUE);
            path = file;
        }
        long at = storage.bytes.offset() + offset;
        long read = segment.readAt(address, length, at);
        if (read <= 0) {
            throw new EOFException(path + " ends before " + at);
        }
        return read;
    }

    @Override
    public boolean isStillThere() {
        return storage.end();
    }

    @Override
    public void close() {
        if (segment != null) {
            segment.close();
            segment = null;
            path = null;
        }
    }
}
