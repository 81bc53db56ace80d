package io.waybill.python.wire;

import io.waybill.api.tensor.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The two files of a process for large storages. They are read and written by position and never mapped: a file that
 * the process truncates must not cause a fault here.
 *
 * <p>Thread-safe.
 */
public final class Regions implements AutoCloseable {

    /** Max size of storages in flight to one process, in bytes. */
    static final long MAX_BYTES = 1L << 34;

    private static final int ALIGNMENT = 64;
    private static final int COPY = 1 << 26;
    private static final String KIND = "/memfd:";

    private final FileChannel out; // file that the process writes
    private final FileChannel in; // file that it reads
    private final TreeMap<Long, Long> free = new TreeMap<>(); // length by position; guarded by this
    private final Map<Long, Long> used = new HashMap<>(); // length by position; guarded by this
    private long end; // end of the regions; guarded by this

    private Regions(FileChannel out, FileChannel in) {
        this.out = out;
        this.in = in;
    }

    /**
     * A memfd from the view of its process.
     *
     * @param descriptor in the process; -1 for none
     * @param inode inode of the file, which identifies it here, too
     */
    public record Memfd(long descriptor, long inode) {}

    /**
     * Opens the files by their descriptors in the process.
     *
     * @param pid pid of the process, in its own namespace
     * @throws IOException if they are not these memfds, because the process is in another pid namespace
     */
    public static Regions open(long pid, Memfd out, Memfd in) throws IOException {
        FileChannel read = open(pid, out, StandardOpenOption.READ);
        try {
            return new Regions(read, open(pid, in, StandardOpenOption.WRITE));
        } catch (IOException | RuntimeException e) {
            read.close();
            throw e;
        }
    }

    private static FileChannel open(long pid, Memfd file, StandardOpenOption option) throws IOException {
        Path path = Path.of("/proc", Long.toString(pid), "fd", Long.toString(file.descriptor()));
        // any other kind of file, such as a FIFO, could block the open
        if (!Files.readSymbolicLink(path).toString().startsWith(KIND) || !Files.isRegularFile(path)) {
            throw new IOException(path + " is no memfd");
        }
        long inode = ((Number) Files.getAttribute(path, "unix:ino")).longValue();
        if (inode != file.inode()) { // memfds of a host are all on one device
            throw new IOException(path + ": expected the memfd with inode " + file.inode() + ", found one with " + inode
                    + "; the process is in another pid namespace");
        }
        return FileChannel.open(path, option);
    }

    /** Copies a storage into a region, and returns its position. */
    long write(Storage storage) throws IOException {
        long size = storage.sizeBytes();
        long position = allocate(size);
        boolean written = false;
        try {
            for (long at = 0; at < size; ) {
                ByteBuffer part = storage.bytes(at, (int) Math.min(COPY, size - at));
                while (part.hasRemaining()) {
                    at += in.write(part, position + at);
                }
            }
            written = true;
            return position;
        } finally {
            if (!written) {
                release(position);
            }
        }
    }

    /** Returns the length of the file that the process writes. */
    long size() throws IOException {
        return out.size();
    }

    /** Copies a region into a storage. */
    void read(long position, Storage to) throws IOException {
        long size = to.sizeBytes();
        for (long at = 0; at < size; ) {
            ByteBuffer part = to.bytes(at, (int) Math.min(COPY, size - at));
            while (part.hasRemaining()) {
                int read = out.read(part, position + at);
                if (read < 0) {
                    throw new ProtocolException("a storage lies at " + position + " with " + size
                            + " bytes, and the region file of the process ends at " + out.size());
                }
                at += read;
            }
        }
    }

    private synchronized long allocate(long size) throws IOException {
        long length = Math.max(ALIGNMENT, size + ALIGNMENT - 1 & -ALIGNMENT);
        for (Map.Entry<Long, Long> gap : free.entrySet()) {
            if (gap.getValue() >= length) {
                long position = gap.getKey();
                long rest = gap.getValue() - length;
                free.remove(position);
                if (rest > 0) {
                    free.put(position + length, rest);
                }
                used.put(position, length);
                return position;
            }
        }
        if (end + length > MAX_BYTES) {
            throw new IOException("no room for " + size + " bytes: the process holds " + used.size() + " storages of "
                    + end + " bytes in all, of at most " + MAX_BYTES);
        }
        long position = end;
        end += length;
        used.put(position, length);
        return position;
    }

    /** Frees a region that the process no longer needs. */
    public synchronized void release(long position) throws ProtocolException {
        Long length = used.remove(position);
        if (length == null) {
            throw new ProtocolException("RELEASE names regions in use, and there is none at " + position);
        }
        long from = position;
        long to = position + length;
        Map.Entry<Long, Long> before = free.lowerEntry(position);
        if (before != null && before.getKey() + before.getValue() == from) {
            from = before.getKey();
            free.remove(from);
        }
        Long after = free.remove(to);
        if (after != null) {
            to += after;
        }
        if (to == end) {
            end = from;
        } else {
            free.put(from, to - from);
        }
    }

    /** Returns the number of regions that the process has not released. */
    public synchronized int used() {
        return used.size();
    }

    @Override
    public void close() {
        try (out;
                in) {
            // closes both, even if the first one throws
        } catch (IOException e) {
            // no data in the files needs to survive
        }
    }
}
