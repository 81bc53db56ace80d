package io.waybill.tensor.segment;

import java.nio.file.Path;

/**
 * The bytes of one storage that a message names in a segment, with a hold of their region: it is not used again before {@link #letGo}.
 *
 * <p><b>Threads.</b> Immutable. <b>Ownership.</b> Its receiver releases it, once.
 */
public final class LeasedBytes {

    private final Region region;
    private final long offset;
    private final long size;
    private final boolean isShared;

    public LeasedBytes(Region region, long offset, long size, boolean isShared) {
        this.region = region;
        this.offset = offset;
        this.size = size;
        this.isShared = isShared;
    }

    /** The segment's file. */
    public Path segment() {
        return region.segment().path();
    }

    /** Returns the offset of the first byte in the segment's file. */
    public long offset() {
        return offset;
    }

    public long size() {
        return size;
    }

    /** Whether the sender itself had allocated them there, and has not given them back: it can write, though it must not. */
    public boolean isShared() {
        return isShared;
    }

    public void letGo() {
        region.letGo();
    }
}
