package io.waybill.journal.format;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.agrona.BufferUtil;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Part of a file, copied into private memory by positional reads. Later changes of the file have no effect, and a
 * truncated file only causes a short read.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Closes the file that it opened. <b>Memory.</b> The size of the
 * largest read.
 */
public final class FileWindow implements Closeable {

    /** Size of a read when records are read in order. */
    public static final int CAPACITY = 256 << 10;
    /** Size of a read otherwise. */
    public static final int SMALL = 4 << 10;

    private static final int ALIGNMENT = 64;
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(CAPACITY).asReadOnlyBuffer();

    private final UnsafeBuffer memory = new UnsafeBuffer(0, 0);
    private ByteBuffer copied;
    private NativeFile file;
    private long start;
    private int length;

    /** Opens another file in place of the previous one. */
    public void open(Path path, SafeFiles files) throws IOException {
        close();
        file = files.openNative(path, Long.MAX_VALUE);
    }

    public boolean isOpen() {
        return file != null;
    }

    Path path() {
        return file.path();
    }

    /** Returns the present size of the file. */
    public long size() throws IOException {
        return file.size();
    }

    /** Discards the window, so that the next access reads the file. */
    public void forget() {
        length = 0;
    }

    /** Discards the window, and releases its memory except for a small read. */
    public void rest() {
        forget();
        if (memory.capacity() > SMALL) {
            copied = null;
            memory.wrap(0, 0);
        }
    }

    /**
     * Ensures that a range is in memory.
     *
     * @param least number of bytes that must be available, at most {@link #CAPACITY}
     * @param max number of bytes to read at once when a read is necessary
     * @return false when the file ends before
     */
    public boolean covers(long at, int least, int max) throws IOException {
        if (at >= start && at + least <= start + length) {
            return true;
        }
        int wanted = Math.max(least, max);
        if (wanted > memory.capacity()) {
            copied = BufferUtil.allocateDirectAligned(wanted, ALIGNMENT);
            memory.wrap(copied);
        }
        length = (int) file.readAt(memory.addressOffset(), wanted, at);
        start = at;
        return least <= length;
    }

    /** Returns the number of bytes in memory from a covered position on. */
    public int available(long at) {
        return (int) (start + length - at);
    }

    public int int32(long at) {
        return memory.getInt((int) (at - start), ByteOrder.LITTLE_ENDIAN);
    }

    public long int64(long at) {
        return memory.getLong((int) (at - start), ByteOrder.LITTLE_ENDIAN);
    }

    public byte int8(long at) {
        return memory.getByte((int) (at - start));
    }

    /** Returns the first byte of a range that is not zero; {@code to} when all are, as far as the file reaches. */
    public long firstNonZero(long from, long to) throws IOException {
        long at = file.dataFrom(from); // large ranges are reserved ahead or were released, and nothing is written there
        while (at < to && covers(at, 1, CAPACITY)) {
            int bytes = (int) Math.min(to - at, available(at));
            int found = copied.slice((int) (at - start), bytes).mismatch(ZEROS);
            if (found >= 0 && found < bytes) {
                return at + found;
            }
            at = file.dataFrom(at + bytes);
        }
        return to;
    }

    /** Copies a covered range. */
    public void copy(long at, UnsafeBuffer to, int bytes) {
        to.putBytes(0, memory, (int) (at - start), bytes);
    }

    /** Reads a range of any length, also beyond the window. Returns false when the file ends before. */
    public boolean read(long at, UnsafeBuffer to, int bytes) throws IOException {
        int done = 0;
        while (done < bytes) {
            long read = file.readAt(to.addressOffset() + done, bytes - done, at + done);
            if (read <= 0) {
                return false;
            }
            done += (int) read;
        }
        return true;
    }

    @Override
    public void close() {
        forget();
        if (file != null) {
            file.close();
            file = null;
        }
    }
}
