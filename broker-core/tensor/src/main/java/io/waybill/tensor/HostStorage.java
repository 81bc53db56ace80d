package io.waybill.tensor;

import io.waybill.tensor.memory.HostBytes;
import io.waybill.tensor.memory.NativeSpan;
import io.waybill.tensor.memory.UseCount;
import java.nio.ByteBuffer;

/** Separate storage in native memory, writable. Allocated by {@link HostMemory}. Counting is thread-safe. */
public final class HostStorage implements HostBytes {

    private final HostMemory owner;
    private final NativeSpan span;
    private final UseCount count = new UseCount();

    HostStorage(HostMemory owner, NativeSpan span) {
        this.owner = owner;
        this.span = span;
    }

    @Override
    public long sizeBytes() {
        return span.length();
    }

    @Override
    public long address() {
        count.require();
        return span.address();
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        count.require();
        return span.view(offset, length);
    }

    @Override
    public HostStorage retain() {
        count.retain();
        return this;
    }

    @Override
    public void release() {
        if (count.release()) {
            owner.released(span);
        }
    }
}
