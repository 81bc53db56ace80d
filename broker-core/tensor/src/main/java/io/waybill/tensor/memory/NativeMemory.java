package io.waybill.tensor.memory;

import io.waybill.api.device.MappedSegment;
import io.waybill.host.NativeCallException;
import io.waybill.host.NativeCalls;
import io.waybill.host.NativeCalls.Advice;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.UnsafeApi;

/**
 * Copies native memory, shows it as buffers, and defers its release while it may still be read: a thread that keeps a
 * view of a storage longer than the storage may read unexpected bytes, but does not crash the process.
 *
 * <p><b>Threads.</b> Thread-safe. It has no thread of its own: deferred releases are done by later calls of
 * {@link #reap}.
 */
public final class NativeMemory {

    /**
     * Min size for a copy by libc: outside the JVM's safepoints, so that a long copy or a slow page delays no other
     * thread.
     */
    private static final long LIBC_COPY_FROM = 32 << 10;

    private final NativeCalls calls;
    private final MappedSegments mapped; // null when mappings are not reported
    private final ReferenceQueue<ByteBuffer> unseen = new ReferenceQueue<>();
    private final Set<HeldBack> heldBack = ConcurrentHashMap.newKeySet();
    private final AtomicLong heldBackBytes = new AtomicLong();

    public NativeMemory(NativeCalls calls) {
        this(calls, null);
    }

    /** Creates an object that reports the segments that are mapped. */
    public NativeMemory(NativeCalls calls, MappedSegments mapped) {
        this.calls = calls;
        this.mapped = mapped;
    }

    /** Reports a segment that was mapped. Returns the argument for {@link #unmapSegment}. */
    public MappedSegments.Mapped segmentMapped(MappedSegment segment) {
        return mapped == null ? null : mapped.mapped(segment);
    }

    /** Unmaps a segment: now, or after the listeners that were notified of it have been notified of its end. */
    public void unmapSegment(MappedSegments.Mapped segment, Runnable free) {
        if (segment == null) {
            free.run();
        } else {
            mapped.unmap(segment, free);
        }
    }

    /** Copies between ranges that do not overlap. */
    public void copy(long from, long to, long length) {
        if (length >= LIBC_COPY_FROM) {
            calls.copy(from, to, length);
        } else {
            UnsafeApi.copyMemory(from, to, length);
        }
    }

    /**
     * Returns a buffer over memory, writable, in native byte order once it is sliced. It does not keep the memory
     * allocated.
     */
    ByteBuffer buffer(long address, int length) {
        return calls.bufferAt(address, length);
    }

    public void unmap(long address, long length) {
        try {
            calls.unmap(address, length);
        } catch (NativeCallException e) {
            throw new IllegalStateException("a mapping could not be ended", e);
        }
    }

    /** Drops the pages that lie in a range, in whole or in part. */
    public void dropPages(long address, long length) {
        long start = address & -Pages.SIZE;
        advise(start, Pages.roundUp(address + length) - start, Advice.DONT_NEED);
    }

    /** Drops the pages that lie wholly in a range. */
    public void dropInnerPages(long address, long length) {
        long start = Pages.roundUp(address);
        long end = address + length & -Pages.SIZE;
        if (end > start) {
            advise(start, end - start, Advice.DONT_NEED);
        }
    }

    private void advise(long address, long length, Advice advice) {
        try {
            calls.advise(address, length, advice);
        } catch (NativeCallException e) {
            throw new IllegalStateException("pages could not be dropped", e);
        }
    }

    /** Frees memory when none of the buffers over it, nor any view of one, can be reached any more. */
    void freeWhenUnseen(List<ByteBuffer> buffers, long length, Runnable free) {
        AtomicInteger reachable = new AtomicInteger(buffers.size());
        heldBackBytes.addAndGet(length);
        for (ByteBuffer buffer : buffers) {
            heldBack.add(new HeldBack(buffer, unseen, reachable, length, free));
        }
    }

    /** Frees held-back memory that can't be seen any more. Cheap when there is none. */
    public void reap() {
        Reference<? extends ByteBuffer> gone = unseen.poll();
        while (gone != null) {
            HeldBack held = (HeldBack) gone;
            heldBack.remove(held);
            if (held.reachable.decrementAndGet() == 0) {
                heldBackBytes.addAndGet(-held.length);
                held.free.run();
            }
            gone = unseen.poll();
        }
    }

    /** Returns the size of address space that is released and waits until it can't be read any more. */
    public long heldBackBytes() {
        return heldBackBytes.get();
    }

    private static final class HeldBack extends PhantomReference<ByteBuffer> {
        private final AtomicInteger reachable;
        private final long length;
        private final Runnable free;

        HeldBack(
                ByteBuffer buffer,
                ReferenceQueue<ByteBuffer> queue,
                AtomicInteger reachable,
                long length,
                Runnable free) {
            super(buffer, queue);
            this.reachable = reachable;
            this.length = length;
            this.free = free;
        }
    }
}
