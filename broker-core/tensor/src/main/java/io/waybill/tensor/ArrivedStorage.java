package io.waybill.tensor;

import io.waybill.api.tensor.FilePart;
import io.waybill.tensor.memory.HostBytes;
import io.waybill.tensor.memory.UseCount;
import io.waybill.tensor.segment.SegmentMapping;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Storage that arrived in a peer's segment and is used in place. Native code may write to it: the writes are private to
 * this process and end with the storage. Until it may have written, the peer's file has the same bytes. Counting is
 * thread-safe.
 */
final class ArrivedStorage implements HostBytes {

    private final SegmentMapping.Part part;
    private final ArrivedLease lease;
    private final UseCount count = new UseCount();
    /** Written when native code gets the address: the thread that releases last must see it. */
    private volatile boolean maybeWritten;

    ArrivedStorage(SegmentMapping.Part part, ArrivedLease lease) {
        this.part = part;
        this.lease = lease;
    }

    @Override
    public long sizeBytes() {
        return part.length();
    }

    @Override
    public long address() {
        count.require();
        maybeWritten = true;
        return part.address();
    }

    @Override
    public long readAddress() {
        count.require();
        return maybeWritten ? part.address() : part.readAddress();
    }

    @Override
    public Optional<FilePart> filePart() {
        count.require();
        return maybeWritten ? Optional.empty() : Optional.of(new FilePart(part.path(), part.offset()));
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        count.require();
        if (offset < 0 || length < 0 || offset > part.length() - length) {
            throw new IndexOutOfBoundsException(
                    "a part of " + length + " bytes at " + offset + " does not lie inside " + part.length() + " bytes");
        }
        ByteBuffer view = part.span().view(part.offsetInSpan() + offset, length);
        return view.asReadOnlyBuffer().order(view.order());
    }

    @Override
    public ArrivedStorage retain() {
        count.retain();
        return this;
    }

    @Override
    public void release() {
        if (count.release()) {
            lease.oneDone();
        }
    }

    /** Returns whether the peer's file has been cut since, so that bytes that were read may not be the peer's. */
    boolean isCut() {
        return part.isCut();
    }

    /** Releases its part of the mapping after all storages of the lease are released. */
    void end() {
        if (maybeWritten) {
            part.dropPrivatePages();
        }
        part.release();
    }
}
