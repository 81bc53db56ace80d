package io.waybill.archive;

import io.waybill.host.NativeFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.agrona.BufferUtil;

/**
 * Reader of a file by positional reads into private memory, with read-ahead.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Closes the file. <b>Memory.</b> At most {@link #LARGE}.
 */
final class FileBytes implements Closeable {

    private static final int SMALL = 4 << 10;
    /** Size of a read when the file is read in order. */
    static final int LARGE = 256 << 10;

    private final NativeFile file;
    private ByteBuffer memory = ByteBuffer.allocate(0);
    private long start;
    private int length;

    FileBytes(NativeFile file) {
        this.file = file;
    }

    NativeFile file() {
        return file;
    }

    long size() throws IOException {
        return file.size();
    }

    /** Discards the buffer, so that the next access reads the file. */
    void forget() {
        length = 0;
    }

    /**
     * Ensures that a range is in memory.
     *
     * @param bytes at most {@link #LARGE}
     * @return start of the range in {@link #memory}; less than 0 when the file ends before
     */
    int at(long offset, int bytes) throws IOException {
        if (offset < start || offset + bytes > start + length) {
            boolean inOrder = length > 0 && offset >= start && offset <= start + length;
            read(offset, Math.max(bytes, inOrder ? LARGE : SMALL));
        }
        return offset + bytes <= start + length ? (int) (offset - start) : -1;
    }

    private void read(long offset, int wanted) throws IOException {
        start = offset;
        length = 0;
        if (wanted > memory.capacity()) {
            memory = BufferUtil.allocateDirectAligned(wanted, ArchiveLayout.ALIGNMENT)
                    .order(ByteOrder.LITTLE_ENDIAN);
        }
        long address = BufferUtil.address(memory);
        while (length < wanted) {
            long read = file.readAt(address + length, wanted - length, offset + length);
            if (read <= 0) {
                return;
            }
            length += (int) read;
        }
    }

    /** Returns the private memory, little-endian; the next {@link #at} may replace it. */
    ByteBuffer memory() {
        return memory;
    }

    @Override
    public void close() {
        file.close();
    }
}
