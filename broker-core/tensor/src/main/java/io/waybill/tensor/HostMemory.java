package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.memory.NativeSpan;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.UnsafeApi;

/**
 * Native memory for tensors outside of segments: results, files that were read, retained parts of a message. Counts the
 * bytes.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The caller owns a storage, with one count; its last release frees
 * the memory.
 */
public final class HostMemory {

    private final NativeMemory memory;
    private final AtomicLong liveBytes = new AtomicLong();

    public HostMemory(NativeMemory memory) {
        this.memory = memory;
    }

    /**
     * Allocates memory at a multiple of 64, with undefined content.
     *
     * @throws CallException {@link ErrorCode#DEVICE_FULL} when there is none
     */
    public HostStorage allocate(long sizeBytes) {
        if (sizeBytes < 0) {
            throw new IllegalArgumentException("a storage has 0 bytes or more: " + sizeBytes);
        }
        long base;
        try {
            base = UnsafeApi.allocateMemory(Math.addExact(sizeBytes, TensorSection.ALIGNMENT));
        } catch (OutOfMemoryError | ArithmeticException | IllegalArgumentException e) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.DEVICE_FULL,
                    MessageId.NONE,
                    "no host memory for a storage of " + sizeBytes + " bytes",
                    e);
        }
        liveBytes.addAndGet(sizeBytes);
        NativeSpan span =
                new NativeSpan(memory, TensorSection.align(base), sizeBytes, () -> UnsafeApi.freeMemory(base));
        return new HostStorage(this, span);
    }

    void released(NativeSpan span) {
        liveBytes.addAndGet(-span.length());
        if (span.mayBeSeen()) {
            memory.dropInnerPages(span.address(), span.length());
        }
        span.close();
    }

    /** Returns the number of bytes of storages that are not released. */
    public long liveBytes() {
        return liveBytes.get();
    }
}
