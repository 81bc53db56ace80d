package io.waybill.tensor.segment;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.MappedSegment;
import io.waybill.host.Clock;
import io.waybill.host.NativeCalls;
import io.waybill.host.NativeFile;
import io.waybill.host.failure.HostFailures;
import io.waybill.tensor.memory.MappedSegments;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.NativeSpan;
import io.waybill.tensor.memory.Pages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Copy-on-write mapping of a peer's segment file: reading copies nothing, and writes are private to this process. A
 * second mapping, which can't be written, always shows the file, also to a device for which it is pinned.
 *
 * <p>Two storages over the same bytes at the same time would see each other's writes; the second one gets a mapping of
 * its own.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> {@link PeerSegments} closes it, once; it stays mapped until the
 * last storage in it is released.
 */
public final class SegmentMapping {

    /**
     * Max age of the file size. Truncation during use is detected afterwards; this check only prevents most accesses
     * beyond the end.
     */
    private static final long SIZE_HOLDS_NS = 1_000_000;

    private final NativeFile file;
    private final NativeSpan span;
    private final long readAddress; // address of the second mapping; 0 for an empty file
    private final NativeMemory memory;
    private final MappedSegments.Mapped mapped; // null for an empty file
    private final Clock clock;
    private final TreeMap<Long, Long> inUse = new TreeMap<>();
    private int parts; // number of parts in use
    private long size;
    private long sizeAskedNs;
    private boolean closed;

    private SegmentMapping(NativeFile file, NativeSpan span, long readAddress, NativeMemory memory, Clock clock) {
        this.file = file;
        this.span = span;
        this.readAddress = readAddress;
        this.memory = memory;
        this.clock = clock;
        this.size = span.length();
        this.mapped = size == 0
                ? null
                : memory.segmentMapped(
                        new MappedSegment(span.address(), size, MappedSegment.Use.RECEIVES, readAddress));
        this.sizeAskedNs = clock.monotonicNs();
    }

    /** Maps the whole file. Acquires the file. */
    static SegmentMapping map(NativeFile file, NativeMemory memory, Clock clock) throws IOException {
        try {
            long size = file.size();
            if (size == 0) {
                return new SegmentMapping(file, new NativeSpan(memory, 0, 0, () -> {}), 0, memory, clock);
            }
            NativeSpan span = mapPart(file, 0, size, memory);
            return new SegmentMapping(file, span, mapForReading(file, span), memory, clock);
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    private static NativeSpan mapPart(NativeFile file, long offset, long length, NativeMemory memory)
            throws IOException {
        long address = file.map(NativeCalls.Mapping.PRIVATE, offset, length);
        return new NativeSpan(memory, address, length, () -> memory.unmap(address, length));
    }

    /** Maps the range of a span a second time; closes the span when that fails. */
    private static long mapForReading(NativeFile file, NativeSpan span) throws IOException {
        try {
            return file.map(NativeCalls.Mapping.READ_ONLY, 0, span.length());
        } catch (IOException e) {
            span.close();
            throw e;
        }
    }

    /** Part of a mapping, in use. */
    public record Part(SegmentMapping mapping, NativeSpan span, long offsetInSpan, long offset, long length) {

        public long address() {
            return span.address() + offsetInSpan;
        }

        /** Returns the address of the file's bytes, without any writes at {@link #address}; not writable. */
        public long readAddress() {
            return mapping.readAddress + offset;
        }

        /** Returns the path at which the peer's file was opened. */
        public Path path() {
            return mapping.file.path();
        }

        boolean isAlone() {
            return span != mapping.span;
        }

        /** Returns whether the file has been cut since it was taken into use. */
        public boolean isCut() {
            return mapping.endsBefore(offset + length);
        }

        /**
         * Discards private pages that a receiver may have written, so that the mapping shows the file again. Whole
         * pages: only when no other part in them is in use.
         */
        public void dropPrivatePages() {
            if (length > 0 && !isAlone()) {
                mapping.memory.dropPages(address(), length);
            }
        }

        public void release() {
            mapping.release(this);
        }
    }

    /**
     * Takes a part into use.
     *
     * @throws RejectedMessageException when the file is too short: touching the missing pages would crash the process
     */
    synchronized Part use(long offset, long length) throws RejectedMessageException {
        if (closed) {
            throw new IllegalStateException("the mapping is closed");
        }
        try {
            long size = size();
            if (length > size || offset > size - length) {
                throw new RejectedMessageException(
                        ErrorCode.PEER_CORRUPT,
                        "the segment file " + file + " was cut short: a storage of " + length + " bytes at " + offset
                                + " does not lie inside its " + size + " bytes");
            }
            if (overlapsOneInUse(offset, length)) {
                long start = offset & -Pages.SIZE;
                NativeSpan alone = mapPart(file, start, offset - start + length, memory);
                parts++;
                return new Part(this, alone, offset - start, offset, length);
            }
        } catch (IOException e) {
            throw new RejectedMessageException(
                    HostFailures.is(e) ? ErrorCode.RESOURCE_UNAVAILABLE : ErrorCode.PEER_CORRUPT,
                    "the segment file " + file + " can't be used: " + HostFailures.describe(e),
                    e);
        }
        if (length > 0) {
            inUse.put(offset, offset + length);
        }
        parts++;
        return new Part(this, span, offset, offset, length);
    }

    /**
     * Returns the usable size of the file, from a recent read: reading the size costs as much as everything else here.
     */
    private long size() throws IOException {
        long nowNs = clock.monotonicNs();
        if (nowNs - sizeAskedNs >= SIZE_HOLDS_NS) {
            size = Math.min(file.size(), span.length());
            sizeAskedNs = nowNs;
        }
        return size;
    }

    private boolean endsBefore(long end) {
        try {
            return file.size() < end;
        } catch (IOException e) {
            return true;
        }
    }

    private boolean overlapsOneInUse(long offset, long length) {
        Map.Entry<Long, Long> before = inUse.lowerEntry(offset + length);
        return length > 0 && before != null && before.getValue() > offset;
    }

    private void release(Part part) {
        if (part.isAlone()) {
            part.span().close();
        }
        boolean last;
        synchronized (this) {
            if (part.length() > 0 && !part.isAlone()) {
                inUse.remove(part.offset());
            }
            parts--;
            last = closed && parts == 0;
        }
        if (last) {
            end();
        }
    }

    /** Returns whether no part of it is in use and the peer has removed the file. */
    synchronized boolean isStale() {
        return parts == 0 && !Files.exists(file.path(), LinkOption.NOFOLLOW_LINKS);
    }

    void close() {
        boolean last;
        synchronized (this) {
            closed = true;
            last = parts == 0;
        }
        if (last) {
            end();
        }
    }

    private void end() {
        memory.unmapSegment(mapped, () -> {
            span.close();
            if (span.length() > 0) {
                memory.unmap(readAddress, span.length());
            }
            file.close();
        });
    }
}
