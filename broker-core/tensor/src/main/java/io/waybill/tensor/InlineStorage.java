package io.waybill.tensor;

import io.waybill.tensor.memory.HostBytes;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.UseCount;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Storage that arrived in the record itself. Its bytes are in the private copy of the record, or after {@link #moveTo}
 * in separate memory. Counting is thread-safe.
 */
final class InlineStorage implements HostBytes {

    /** Buffer with the bytes; keeps the memory reachable, and with it every view. */
    private ByteBuffer holder;
    /** Separate memory after the move; null while the bytes are in the record. */
    private HostStorage moved;

    private int offset;
    private long address;
    private final int size;
    private final UseCount count = new UseCount();

    /**
     * Creates a storage in a record.
     *
     * @param recordAddress of the holder's first byte
     */
    InlineStorage(ByteBuffer holder, long recordAddress, int offset, int size) {
        this.holder = holder;
        this.offset = offset;
        this.address = recordAddress + offset;
        this.size = size;
    }

    /**
     * Moves the bytes to a part of other memory. Only before the storage is used. Acquires the caller's count of the
     * memory.
     */
    void moveTo(HostStorage target, long targetOffset, NativeMemory memory) {
        long to = target.readAddress() + targetOffset;
        memory.copy(address, to, size);
        holder = target.bytes(targetOffset, size);
        offset = 0;
        address = to;
        moved = target;
    }

    /** Returns whether it is in use and in the record. */
    boolean needsRecord() {
        return moved == null && count.isLive();
    }

    @Override
    public long sizeBytes() {
        return size;
    }

    @Override
    public long address() {
        count.require();
        return address;
    }

    @Override
    public ByteBuffer bytes(long from, int length) {
        count.require();
        if (from < 0 || length < 0 || from > size - length) {
            throw new IndexOutOfBoundsException(
                    "a part of " + length + " bytes at " + from + " does not lie inside " + size + " bytes");
        }
        return holder.slice(offset + (int) from, length).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
    }

    @Override
    public InlineStorage retain() {
        count.retain();
        return this;
    }

    @Override
    public void release() {
        if (count.release() && moved != null) {
            moved.release();
        }
    }
}
