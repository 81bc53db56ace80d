package io.waybill.tensor.segment;

import io.waybill.api.device.MappedSegment;
import io.waybill.host.NativeCalls;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.tensor.memory.MappedSegments;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.NativeSpan;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Segment file of this worker, preallocated and mapped, with its free parts.
 *
 * <p>The free parts below {@link #touchedEnd} have been written before and are fast to write again; the parts above
 * were never used.
 *
 * <p><b>Threads.</b> Guarded by the {@link SegmentPool}'s lock, but for the immutable fields.
 */
public final class Segment {

    private static final Logger LOG = LoggerFactory.getLogger(Segment.class);
    private static final int MAX_FILES = 100_000;

    private final long id;
    private final Path path;
    private final SafeFiles files;
    private final NativeMemory memory;
    private final NativeSpan span;
    private final MappedSegments.Mapped mapped;
    private final TreeMap<Long, Extent> freeByOffset = new TreeMap<>();
    private long touchedEnd;
    private int inUse; // regions in use

    private Segment(long id, Path path, SafeFiles files, NativeMemory memory, long address, long size) {
        this.id = id;
        this.path = path;
        this.files = files;
        this.memory = memory;
        this.span = new NativeSpan(memory, address, size, () -> memory.unmap(address, size));
        this.mapped = memory.segmentMapped(new MappedSegment(address, size, MappedSegment.Use.SENDS, address));
    }

    /** Creates the file, with all its space. Removes it when that fails. */
    static Segment create(long id, Path directory, long size, SafeFiles files, NativeMemory memory) throws IOException {
        Path path = path(directory, id);
        // checked first: a failed attempt would briefly use all the rest, which journals need too
        long left = Files.getFileStore(directory).getUsableSpace();
        if (left < size) {
            throw new IOException("a segment of " + size + " bytes does not fit on the disk of " + directory
                    + ", which has " + left + " bytes left");
        }
        try (NativeFile file = files.openOwnNative(path)) {
            file.extend(0, size);
            long address = file.map(NativeCalls.Mapping.SHARED, 0, size);
            return new Segment(id, path, files, memory, address, size);
        } catch (IOException e) {
            try {
                files.remove(path);
            } catch (IOException second) {
                e.addSuppressed(second);
            }
            throw e;
        }
    }

    /** Removes the files of segments other than these, and returns their number. */
    static int removeOthers(Path directory, Set<Path> own, SafeFiles files) throws IOException {
        int removed = 0;
        for (Path file : files.list(directory, MAX_FILES)) {
            if (file.getFileName().toString().matches("\\d{1,19}\\.seg") && !own.contains(file)) {
                files.remove(file);
                removed++;
            }
        }
        return removed;
    }

    static Path path(Path directory, long id) {
        return directory.resolve(id + ".seg");
    }

    public long id() {
        return id;
    }

    NativeSpan span() {
        return span;
    }

    /** Unmaps it, once. */
    void unmap() {
        memory.unmapSegment(mapped, span::close);
    }

    long size() {
        return span.length();
    }

    Path path() {
        return path;
    }

    /** Returns whether another process has locked, and therefore mapped, a part of the file. */
    boolean isLocked(long offset, long length) {
        try (NativeFile file = files.openExistingNative(path);
                FileChannel channel = files.channelOf(file);
                FileLock lock = channel.tryLock(offset, length, false)) {
            return lock == null;
        } catch (IOException | OverlappingFileLockException e) { // the caller asks again
            LOG.debug("Whether {} is locked is not known", path, e);
            return true;
        }
    }

    long touchedEnd() {
        return touchedEnd;
    }

    /** Takes a region from the part that was never used. */
    long takeFresh(long length) {
        long offset = touchedEnd;
        touchedEnd += length;
        return offset;
    }

    long freshBytes() {
        return span.length() - touchedEnd;
    }

    /** Counts a region of it as held. */
    void taken() {
        inUse++;
    }

    /** Counts a region of it as released. Returns whether it was the last one. */
    boolean givenBack() {
        return --inUse == 0;
    }

    boolean isInUse() {
        return inUse > 0;
    }

    void put(Extent extent) {
        freeByOffset.put(extent.offset(), extent);
    }

    void drop(Extent extent) {
        freeByOffset.remove(extent.offset());
    }

    /** Returns the free part that ends at {@code offset}; null for none. */
    Extent freeBefore(long offset) {
        var entry = freeByOffset.lowerEntry(offset);
        return entry != null && entry.getValue().end() == offset ? entry.getValue() : null;
    }

    /** Returns the free part that starts at {@code offset}; null for none. */
    Extent freeAt(long offset) {
        return freeByOffset.get(offset);
    }

    /** Returns whether no region of it is in use. */
    boolean isUnused() {
        if (touchedEnd == 0) {
            return true;
        }
        Extent first = freeByOffset.get(0L);
        return first != null && first.length() == touchedEnd;
    }

    List<Extent> freeExtents() {
        return new ArrayList<>(freeByOffset.values());
    }

    /**
     * Free part that has been written before.
     *
     * @param stamp number that grows with each part that becomes free
     */
    record Extent(Segment segment, long offset, long length, long stamp) implements Comparable<Extent> {

        long end() {
            return offset + length;
        }

        /**
         * Orders by size, the smallest first, and equal sizes by the time they became free, the last one first: its
         * pages are the warmest.
         */
        @Override
        public int compareTo(Extent other) {
            int byLength = Long.compare(length, other.length);
            return byLength != 0 ? byLength : Long.compare(other.stamp, stamp);
        }
    }
}
