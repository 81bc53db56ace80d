package io.waybill.tensor;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.tensor.memory.UseCount;
import java.nio.ByteBuffer;

/**
 * Placeholder for a storage on a device of the sender, whose memory the receiver may use: a converter creates a storage
 * over it. While it is held, so is the sender's storage. Counting is thread-safe.
 */
final class SharedStorage implements Storage {

    private static final String TEXT =
            "the storage is in device memory of another worker, which a converter has to open";

    private final Device target;
    private final long sizeBytes;
    private final byte[] handle;
    private final ArrivedLease lease;
    private final UseCount count = new UseCount();

    SharedStorage(Device target, long sizeBytes, byte[] handle, ArrivedLease lease) {
        this.target = target;
        this.sizeBytes = sizeBytes;
        this.handle = handle;
        this.lease = lease;
        lease.addShared();
    }

    /** Returns the handle that the sender's converter made. */
    byte[] handle() {
        return handle;
    }

    @Override
    public Device device() {
        return target;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long address() {
        count.require();
        throw new IllegalStateException(TEXT);
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        count.require();
        throw new IllegalStateException(TEXT);
    }

    @Override
    public SharedStorage retain() {
        count.retain();
        return this;
    }

    @Override
    public void release() {
        if (count.release()) {
            lease.oneDone();
        }
    }
}
