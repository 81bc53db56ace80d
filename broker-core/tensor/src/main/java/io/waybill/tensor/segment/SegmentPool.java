package io.waybill.tensor.segment;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.CloseSteps;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.Pages;
import io.waybill.tensor.segment.Segment.Extent;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pool of this worker's segment files, and of the regions in them: allocated in whole pages, freed when neither the
 * worker nor a receiver uses them, and reused, regions written before first. Writing to untouched pages is an order of
 * magnitude slower.
 *
 * <p><b>Threads.</b> Thread-safe. A new segment is created under the lock.
 *
 * <p><b>Ownership.</b> The worker closes it, which removes the files; receivers that have mapped them keep their
 * mappings, and so does this process: a segment stays mapped until its last region is released, by the last thread that
 * copies into it or holds a storage. The worker removes files that an earlier process of it left behind
 * ({@link #removeLeftovers}) when no worker will read the messages that name them.
 *
 * <p><b>Errors.</b> {@link CallException} with {@link ErrorCode#DEVICE_FULL} when the limit or the disk leaves no room,
 * with {@link ErrorCode#BACK_PRESSURE} when there is room for a message as soon as receivers release theirs, with
 * {@link ErrorCode#CLOSED} once it is closed. The text names the holders with their sizes.
 */
public final class SegmentPool implements TensorBuffers, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(SegmentPool.class);

    private final Path directory;
    private final TensorConfig config;
    private final SafeFiles files;
    private final NativeMemory memory;
    private final Leases leases;
    private final RegionHolder holder;
    private final List<Segment> segments = new ArrayList<>();
    private final TreeSet<Extent> free = new TreeSet<>();
    private final AtomicLong ownedBytes = new AtomicLong();
    private final long firstId;
    private long nextId;
    private long nextStamp;
    private long totalBytes;
    private long usedBytes;
    private IOException noSegment; // reason why the last one could not be made; null when it could, or none was needed
    private volatile boolean closed; // written under the lock, read by holders of storages too

    /** Pages that a request for a region accepts. */
    private enum Room {
        TOUCHED,
        ANY
    }

    /**
     * Creates a pool.
     *
     * @param directory where the segment files lie; made when missing
     * @param firstId of segments and of leases: larger than any of an earlier process of this worker, such as the wall
     * clock in ns
     * @param released source of released leases
     * @param holder further holder of regions
     * @param releases releases storages on devices that receivers shared
     */
    public SegmentPool(
            Path directory,
            TensorConfig config,
            SafeFiles files,
            NativeMemory memory,
            long firstId,
            ReleasedLeases released,
            RegionHolder holder,
            StorageReleases releases)
            throws IOException {
        this.directory = files.createPrivateDirectory(directory);
        this.config = config;
        this.files = files;
        this.memory = memory;
        this.firstId = firstId;
        this.nextId = firstId;
        this.leases = new Leases(firstId, released, releases);
        this.holder = holder;
    }

    @Override
    public Storage allocate(long sizeBytes) {
        if (sizeBytes < 0) {
            throw new IllegalArgumentException("a storage has 0 bytes or more: " + sizeBytes);
        }
        long bytes = Math.max(1, sizeBytes);
        Region region = takeOrNull(bytes);
        if (region == null) {
            throw full(ErrorCode.DEVICE_FULL, bytes, noSegment());
        }
        ownedBytes.addAndGet(region.length());
        return new SegmentStorage(this, region, sizeBytes);
    }

    void released(Region region) {
        ownedBytes.addAndGet(-region.length());
        region.letGo();
    }

    /** Requires that a message with this number of bytes could be sent once all receivers have released theirs. */
    public void requireEverRoom(long bytes) {
        if (bytes > config.totalBytes() - ownedBytes.get()) {
            throw full(ErrorCode.DEVICE_FULL, bytes, null);
        }
    }

    /** Takes a region of at least this number of bytes for a message, with one hold. */
    public Region take(long bytes) {
        Region region = takeOrNull(bytes);
        if (region == null) {
            IOException cause = noSegment();
            throw full(cause == null ? ErrorCode.BACK_PRESSURE : ErrorCode.DEVICE_FULL, bytes, cause);
        }
        return region;
    }

    private Region takeOrNull(long bytes) {
        leases.pollBeforeTaking(bytes); // outside the lock: the holder releases regions to the pool from here
        Region region = tryTake(bytes, Room.TOUCHED);
        if (region == null) {
            leases.pollAll();
            region = tryTake(bytes, Room.ANY);
        }
        if (region == null && bytes <= config.totalBytes() && holder.giveWay()) {
            region = tryTake(bytes, Room.ANY);
        }
        return region;
    }

    private synchronized IOException noSegment() {
        return noSegment;
    }

    /** Takes a region; null when there is no room. */
    private synchronized Region tryTake(long bytes, Room room) {
        requireOpen();
        if (bytes > config.totalBytes()) {
            return null;
        }
        noSegment = null;
        long length = Pages.roundUp(bytes);
        Region region = takeTouched(length);
        if (region == null && room == Room.ANY) {
            region = takeFresh(length);
        }
        if (region == null && room == Room.ANY && makeRoom(length)) {
            region = takeFresh(length);
        }
        if (region != null) {
            usedBytes += length;
            region.segment().taken();
        }
        return region;
    }

    private Region takeTouched(long length) {
        Extent extent = free.ceiling(new Extent(null, 0, length, Long.MAX_VALUE));
        if (extent == null) {
            return null;
        }
        remove(extent);
        if (extent.length() > length) {
            add(new Extent(extent.segment(), extent.offset() + length, extent.length() - length, extent.stamp()));
        }
        return new Region(this, extent.segment(), extent.offset(), length);
    }

    /** Takes pages that were never used, together with touched and free pages right before them, if any. */
    private Region takeFresh(long length) {
        for (Segment segment : segments) {
            Extent last = segment.freeBefore(segment.touchedEnd());
            long touched = last == null ? 0 : last.length();
            if (touched + segment.freshBytes() >= length) {
                if (last != null) {
                    remove(last);
                }
                long offset = segment.takeFresh(length - touched) - touched;
                return new Region(this, segment, offset, length);
            }
        }
        return null;
    }

    /** Creates a segment with room for {@code length}; removes unused ones if the limit requires it. */
    private boolean makeRoom(long length) {
        long size = Math.max(config.segmentBytes(), length);
        if (totalBytes + size > config.totalBytes()) {
            size = length;
        }
        long unused = 0;
        for (Segment segment : segments) {
            unused += segment.isUnused() ? segment.size() : 0;
        }
        if (totalBytes - unused + size > config.totalBytes()) {
            return false;
        }
        Iterator<Segment> all = segments.iterator();
        while (totalBytes + size > config.totalBytes()) {
            Segment segment = all.next();
            if (segment.isUnused()) {
                all.remove();
                close(segment);
            }
        }
        try {
            segments.add(Segment.create(nextId, directory, size, files, memory));
        } catch (IOException e) {
            noSegment = e;
            return false;
        }
        nextId++;
        totalBytes += size;
        return true;
    }

    void giveBack(Region region) {
        boolean unmap;
        synchronized (this) {
            usedBytes -= region.length();
            unmap = region.segment().givenBack() && closed;
            if (!closed) {
                addMerged(region.segment(), region.offset(), region.length());
            }
        }
        if (unmap) {
            region.segment().unmap();
        }
    }

    private void addMerged(Segment segment, long offset, long length) {
        Extent before = segment.freeBefore(offset);
        Extent behind = segment.freeAt(offset + length);
        long start = offset;
        long end = offset + length;
        if (before != null) {
            remove(before);
            start = before.offset();
        }
        if (behind != null) {
            remove(behind);
            end = behind.end();
        }
        add(new Extent(segment, start, end - start, nextStamp++));
    }

    private void add(Extent extent) {
        free.add(extent);
        extent.segment().put(extent);
    }

    private void remove(Extent extent) {
        free.remove(extent);
        extent.segment().drop(extent);
    }

    private CallException full(ErrorCode code, long bytes, IOException cause) {
        String text = "no room for " + bytes + " bytes of tensors: " + usedBytes() + " of " + config.totalBytes()
                + " bytes (tensor.total-bytes) are in use, " + ownedBytes.get()
                + " of them by this worker's own storages"
                + leases.holders() + (cause == null ? "" : "; " + cause.getMessage());
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text, cause);
    }

    /** Removes the files that an earlier process of this worker left behind, and returns their number. */
    public int removeLeftovers() throws IOException {
        Set<Path> own;
        synchronized (this) {
            own = segments.stream().map(Segment::path).collect(Collectors.toSet());
        }
        return Segment.removeOthers(directory, own, files);
    }

    private void requireOpen() {
        if (closed) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.CLOSED,
                    MessageId.NONE,
                    "this worker is closed: no more memory for tensors is given out");
        }
    }

    public Leases leases() {
        return leases;
    }

    public RegionHolder holder() {
        return holder;
    }

    public TensorConfig config() {
        return config;
    }

    public NativeMemory memory() {
        return memory;
    }

    /** Returns the first id of segments and leases. */
    public long firstId() {
        return firstId;
    }

    /** Returns the size of all segment files. */
    public synchronized long totalBytes() {
        return totalBytes;
    }

    /** Returns the number of bytes that this worker or a receiver uses, in whole pages. */
    public synchronized long usedBytes() {
        return usedBytes;
    }

    public synchronized int segmentCount() {
        return segments.size();
    }

    private void close(Segment segment) {
        for (Extent extent : segment.freeExtents()) {
            remove(extent);
        }
        totalBytes -= segment.size();
        if (!segment.isInUse()) {
            segment.unmap();
        }
        try {
            files.remove(segment.path());
        } catch (IOException e) {
            LOG.warn("A segment file could not be removed and takes up {} bytes", segment.size(), e);
        }
    }

    /** Removes the files. Regions in use stay mapped until they are released. */
    @Override
    public void close() {
        leases.endAll(); // outside the lock: regions that the leases held are put into the pool from here
        synchronized (this) {
            if (closed) {
                throw new IllegalStateException("a segment pool is closed once");
            }
            closed = true;
            CloseSteps steps = new CloseSteps();
            for (Segment segment : segments) {
                steps.attempt(() -> close(segment));
            }
            segments.clear();
            if (usedBytes > 0) {
                LOG.info("{} bytes of tensors are still in use; they stay mapped until they are released", usedBytes);
            }
            steps.finishUnchecked();
        }
    }
}
