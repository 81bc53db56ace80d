package io.waybill.cuda.converter;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;

/**
 * Memory pool of one device. Allocating and freeing wait for the device, so returned blocks are cached for requests of
 * their size, up to a limit, and freed if other requests need the room.
 *
 * <p><b>Threads.</b> Thread-safe; the driver is called without the lock. <b>Units.</b> Bytes; sizes are rounded up by
 * at most an eighth.
 */
final class DeviceMemoryPool {

    private static final long MIN_STEP = 512;
    private static final int STEPS = 8; // steps per power of two

    private final Source source;
    // guarded by this
    private long limit;
    private long cacheLimit;
    private final TreeMap<Long, Deque<MemoryBlock>> cache = new TreeMap<>();
    private long inUse;
    private long cached;
    private boolean closed;

    /** Allocator of device memory. */
    interface Source {

        /** Allocates memory, and returns its address. */
        long allocate(long sizeBytes) throws RejectedMessageException;

        /** Frees a block, after its event. Does not throw. */
        void free(MemoryBlock block);
    }

    /** Creates a pool with a max of used and cached bytes, 0 for none, and a max of cached bytes. */
    DeviceMemoryPool(Source source, long limit, long cacheLimit) {
        this.source = source;
        this.limit = limit;
        this.cacheLimit = cacheLimit;
    }

    /** Applies other limits, without an effect on used memory; {@link #trim} frees the cached memory above them. */
    synchronized void change(MemoryLimits limits) {
        limit = limits.maxBytes();
        cacheLimit = limits.maxCachedBytes();
    }

    /**
     * Removes and returns a block of at least this size.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_FULL} if there is no room, even without cached blocks
     */
    MemoryBlock take(long sizeBytes) throws RejectedMessageException {
        if (sizeBytes == 0) {
            return new MemoryBlock(0, 0, null);
        }
        long rounded = rounded(sizeBytes);
        MemoryBlock found = reuse(rounded);
        if (found != null) {
            return found;
        }
        free(evicted(rounded));
        reserve(rounded);
        boolean allocated = false;
        try {
            MemoryBlock block = new MemoryBlock(allocate(rounded), rounded, null);
            allocated = true;
            return block;
        } finally {
            if (!allocated) {
                unreserve(rounded);
            }
        }
    }

    private static long rounded(long sizeBytes) {
        long step = Math.max(MIN_STEP, Long.highestOneBit(sizeBytes) / STEPS);
        return Math.addExact(sizeBytes, step - 1) / step * step;
    }

    private synchronized MemoryBlock reuse(long rounded) {
        Deque<MemoryBlock> blocks = cache.get(rounded);
        if (blocks == null) {
            return null;
        }
        MemoryBlock block =
                blocks.poll(); // the block that was returned first: its event is the most likely to have passed
        if (blocks.isEmpty()) {
            cache.remove(rounded);
        }
        cached -= rounded;
        inUse += rounded;
        return block;
    }

    private synchronized void reserve(long rounded) throws RejectedMessageException {
        if (limit > 0 && inUse + cached + rounded > limit) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_FULL,
                    "expected room for " + rounded + " bytes below memory.limit.mb, found " + inUse + " of " + limit
                            + " bytes in use");
        }
        inUse += rounded;
    }

    private synchronized void unreserve(long rounded) {
        inUse -= rounded;
    }

    private long allocate(long rounded) throws RejectedMessageException {
        try {
            return source.allocate(rounded);
        } catch (RejectedMessageException e) {
            List<MemoryBlock> evicted = evicted(Long.MAX_VALUE);
            if (e.code() != ErrorCode.DEVICE_FULL || evicted.isEmpty()) {
                throw e;
            }
            free(evicted);
            return source.allocate(rounded);
        }
    }

    /**
     * Returns a block to the pool, for reuse after its event; returns whether too much is cached, so that {@link #trim}
     * is necessary.
     */
    synchronized boolean giveBack(MemoryBlock block) {
        if (block.sizeBytes() == 0) {
            return false;
        }
        inUse -= block.sizeBytes();
        cached += block.sizeBytes();
        cache.computeIfAbsent(block.sizeBytes(), size -> new ArrayDeque<>()).add(block);
        return cached > cacheLimit || closed;
    }

    /** Frees a block that can't be reused, because the device failed. */
    void discard(MemoryBlock block) {
        if (block.sizeBytes() > 0) {
            unreserve(block.sizeBytes());
            source.free(block);
        }
    }

    /** Frees the cached memory above the limit: all of it after {@link #close}. */
    void trim() {
        free(evicted(0));
    }

    /** Frees all cached memory, and stops caching. */
    void close() {
        synchronized (this) {
            closed = true;
        }
        trim();
    }

    /** Removes cached blocks, the largest first, until there is room for more bytes. */
    private synchronized List<MemoryBlock> evicted(long room) {
        List<MemoryBlock> evicted = new ArrayList<>(0);
        while (!cache.isEmpty() && !hasRoom(room)) {
            Deque<MemoryBlock> blocks = cache.lastEntry().getValue();
            MemoryBlock block = blocks.remove();
            if (blocks.isEmpty()) {
                cache.remove(block.sizeBytes());
            }
            cached -= block.sizeBytes();
            evicted.add(block);
        }
        return evicted;
    }

    private boolean hasRoom(long room) {
        return room != Long.MAX_VALUE
                && !closed
                && cached <= cacheLimit
                && (limit == 0 || inUse + cached + room <= limit);
    }

    private void free(List<MemoryBlock> blocks) {
        blocks.forEach(source::free);
    }

    synchronized long inUseBytes() {
        return inUse;
    }

    synchronized long cachedBytes() {
        return cached;
    }
}
