package io.waybill.python.link;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Object in a process, which the value of a reference names by its number. After the last count is released, the
 * process drops the object.
 *
 * <p>Thread-safe.
 */
final class KeptObject implements Storage {

    /** Type of references to such objects. */
    static final String TYPE = "PyObject";

    private final ProcessLink link;
    private final long number;
    private final AtomicInteger counts = new AtomicInteger(1);

    KeptObject(ProcessLink link, long number) {
        this.link = link;
        this.number = number;
        link.uses();
    }

    /** Returns the value of a reference to the object, without an additional count. */
    Value value() {
        return Value.of(Tensor.contiguous(DType.INT64, new long[] {1}, this));
    }

    /**
     * Returns the object in a value, which must stay open.
     *
     * @throws RejectedMessageException if the value is not an object in a process of this gateway
     */
    static KeptObject in(Response value) throws RejectedMessageException {
        List<Tensor> tensors = value.tensors();
        if (tensors.size() == 1 && tensors.get(0).storage() instanceof KeptObject object) {
            return object;
        }
        throw new RejectedMessageException(
                ErrorCode.REFUSED, "the reference names no object of a Python process that this gateway has");
    }

    /**
     * Returns the object of a reference that this worker owns, valid while the reference is; waits until it was
     * created.
     *
     * @throws RejectedMessageException if it was not created, or is not in a process of this gateway
     */
    static KeptObject of(RRef reference) throws RejectedMessageException {
        try (Response value = reference.toHere(Duration.ZERO)) {
            return in(value);
        } catch (CallException e) {
            throw new RejectedMessageException(e.code(), e.getMessage(), e);
        }
    }

    ProcessLink link() {
        return link;
    }

    long number() {
        return number;
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return Long.BYTES;
    }

    @Override
    public long address() {
        throw new IllegalStateException("the number of an object has no address");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
        return bytes.putLong(0, number).slice((int) offset, length).order(ByteOrder.nativeOrder());
    }

    @Override
    public boolean isLive() {
        return true;
    }

    @Override
    public Storage retain() {
        if (counts.getAndIncrement() <= 0) {
            counts.decrementAndGet();
            throw new IllegalStateException("the object " + number + " was forgotten");
        }
        return this;
    }

    @Override
    public void release() {
        int left = counts.decrementAndGet();
        if (left < 0) {
            throw new IllegalStateException("the object " + number + " was forgotten before");
        }
        if (left == 0) {
            link.forgets(number);
        }
    }
}
