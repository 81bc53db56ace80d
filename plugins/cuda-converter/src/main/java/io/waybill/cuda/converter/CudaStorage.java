package io.waybill.cuda.converter;

import io.waybill.api.CallException;
import io.waybill.api.ErrorKind;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A storage in the memory of a CUDA device.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Order.</b> {@link #deviceAddress} makes the calling thread's default stream wait
 * for the copy that produces the content. The memory is reused after the work on the default stream of the thread that
 * releases the last count; of all threads, if several requested the address.
 */
final class CudaStorage implements Storage {

    private static final String TEXT = "the storage is on a device, and not in host memory: ";

    private final CudaDevice device;
    private final StorageMemory memory;
    private final long sizeBytes;
    private final AtomicInteger count = new AtomicInteger(1);
    private Thread user; // guarded by this; the first thread that requested the address
    private boolean isShared; // guarded by this; whether another thread requested it, too

    /** Creates a storage, and takes ownership of the memory. */
    CudaStorage(CudaDevice device, StorageMemory memory, long sizeBytes) {
        this.device = device;
        this.memory = memory;
        this.sizeBytes = sizeBytes;
    }

    @Override
    public Device device() {
        return device.device();
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long deviceAddress() {
        requireLive();
        noteUser(Thread.currentThread());
        try {
            memory.orderThread();
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), 0, e.getMessage(), e);
        }
        return memory.address();
    }

    private synchronized void noteUser(Thread caller) {
        if (user == null) {
            user = caller;
        } else if (user != caller) {
            isShared = true;
        }
    }

    @Override
    public long address() {
        requireLive();
        throw new IllegalStateException(TEXT + device);
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        requireLive();
        throw new IllegalStateException(TEXT + device);
    }

    @Override
    public Storage retain() {
        if (count.getAndUpdate(held -> held == 0 ? 0 : held + 1) == 0) {
            throw released();
        }
        return this;
    }

    @Override
    public void release() {
        int held = count.getAndUpdate(before -> before == 0 ? 0 : before - 1);
        if (held == 0) {
            throw released();
        }
        if (held == 1) {
            memory.giveBack(use());
        }
    }

    private synchronized Use use() {
        if (user == null) {
            return Use.NONE;
        }
        return isShared || user != Thread.currentThread() ? Use.ALL_THREADS : Use.THIS_THREAD;
    }

    private void requireLive() {
        if (count.get() == 0) {
            throw released();
        }
    }

    private static IllegalStateException released() {
        return new IllegalStateException("this storage is released");
    }

    /** Threads on whose default streams work may use the memory. */
    enum Use {
        NONE,
        THIS_THREAD,
        ALL_THREADS
    }
}
