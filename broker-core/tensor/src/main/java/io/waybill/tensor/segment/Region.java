package io.waybill.tensor.segment;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Whole pages of a segment in use. Returns to its pool when neither the worker itself nor a lease holds it.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Created with one hold.
 */
public final class Region {

    private final SegmentPool pool;
    private final Segment segment;
    private final long offset;
    private final long length;
    private final AtomicInteger holds = new AtomicInteger(1);

    Region(SegmentPool pool, Segment segment, long offset, long length) {
        this.pool = pool;
        this.segment = segment;
        this.offset = offset;
        this.length = length;
    }

    public Segment segment() {
        return segment;
    }

    /** Returns the offset from the segment's start. */
    public long offset() {
        return offset;
    }

    /** Returns the length, in whole pages. */
    long length() {
        return length;
    }

    public long address() {
        return segment.span().address() + offset;
    }

    /** Acquires one more hold; returns false when the region was released already. */
    public boolean tryHold() {
        int seen;
        do {
            seen = holds.get();
            if (seen == 0) {
                return false;
            }
        } while (!holds.compareAndSet(seen, seen + 1));
        return true;
    }

    void letGo() {
        if (holds.decrementAndGet() == 0) {
            pool.giveBack(this);
        }
    }
}
