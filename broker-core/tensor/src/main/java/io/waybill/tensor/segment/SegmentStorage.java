package io.waybill.tensor.segment;

import io.waybill.api.tensor.FilePart;
import io.waybill.tensor.memory.HostBytes;
import io.waybill.tensor.memory.UseCount;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Storage that the worker allocated inside a segment, writable until it is sent. Counting is thread-safe. */
public final class SegmentStorage implements HostBytes {

    private final SegmentPool pool;
    private final Region region;
    private final long size;
    private final UseCount count = new UseCount();

    SegmentStorage(SegmentPool pool, Region region, long size) {
        this.pool = pool;
        this.region = region;
        this.size = size;
    }

    public SegmentPool pool() {
        return pool;
    }

    /** Returns the region, with one more hold, which the caller owns. */
    public Region lease() {
        count.require();
        if (!region.tryHold()) {
            throw new IllegalStateException("the storage was released while it was being sent");
        }
        return region;
    }

    @Override
    public long sizeBytes() {
        return size;
    }

    @Override
    public long address() {
        count.require();
        return region.address();
    }

    @Override
    public Optional<FilePart> filePart() {
        count.require();
        return Optional.of(new FilePart(region.segment().path(), region.offset()));
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        count.require();
        if (offset < 0 || length < 0 || offset > size - length) {
            throw new IndexOutOfBoundsException(
                    "a part of " + length + " bytes at " + offset + " does not lie inside " + size + " bytes");
        }
        return region.segment().span().view(region.offset() + offset, length);
    }

    @Override
    public SegmentStorage retain() {
        count.retain();
        return this;
    }

    @Override
    public void release() {
        if (count.release()) {
            pool.released(region);
        }
    }
}
