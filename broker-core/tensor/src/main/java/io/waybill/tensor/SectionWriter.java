package io.waybill.tensor;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import org.agrona.concurrent.UnsafeBuffer;

/** Writes the tables of a tensor section, in the layout of {@link TensorSection}. */
final class SectionWriter {

    private SectionWriter() {}

    static void header(UnsafeBuffer to, int at, int storages, int tensors, int devices, int tablesLength) {
        to.putShort(at + TensorSection.STORAGE_COUNT, (short) storages, LITTLE_ENDIAN);
        to.putShort(at + TensorSection.TENSOR_COUNT, (short) tensors, LITTLE_ENDIAN);
        to.putByte(at + TensorSection.DEVICE_COUNT, (byte) devices);
        to.putByte(at + TensorSection.VERSION_AT, (byte) TensorSection.VERSION);
        to.putShort(at + TensorSection.RESERVED_SHORT, (short) 0);
        to.putInt(at + TensorSection.TABLES_LENGTH, tablesLength, LITTLE_ENDIAN);
        to.putInt(at + TensorSection.RESERVED_INT, 0);
    }

    static void device(UnsafeBuffer to, int at, Device device) {
        to.setMemory(at, TensorSection.DEVICE_LENGTH, (byte) 0);
        to.putByte(at + TensorSection.DEVICE_INDEX, (byte) device.index());
        to.putByte(at + TensorSection.DEVICE_NAME_LENGTH, (byte) device.type().length());
        to.putStringWithoutLengthAscii(at + TensorSection.DEVICE_NAME, device.type());
    }

    static void storage(UnsafeBuffer to, int at, Outgoing next) {
        to.putLong(at, 0);
        to.putByte(at + TensorSection.KIND, (byte) next.kind());
        to.putByte(at + TensorSection.ORIGIN, (byte) next.origin);
        to.putByte(at + TensorSection.TARGET, (byte) next.target);
        to.putLong(at + TensorSection.SIZE, next.size, LITTLE_ENDIAN);
        long offset = next.isInSegment() ? next.region.offset() + next.offsetInRegion : next.recordOffset;
        to.putLong(at + TensorSection.OFFSET, offset, LITTLE_ENDIAN);
        to.putLong(at + TensorSection.SEGMENT_ID, segmentId(next), LITTLE_ENDIAN);
        to.putLong(at + TensorSection.LEASE_ID, next.inline ? 0 : next.lease.id(), LITTLE_ENDIAN);
    }

    private static long segmentId(Outgoing next) {
        if (next.isInSegment()) {
            return next.region.segment().id();
        }
        return next.inline ? 0 : next.handle.length;
    }

    /**
     * Writes the entry of a tensor.
     *
     * @return length of the entry
     */
    static int tensor(UnsafeBuffer to, int at, Tensor tensor, int storageNumber, Outgoing storage) {
        int dimensions = tensor.dimensions();
        to.putLong(at, 0);
        to.putByte(at + TensorSection.DTYPE, (byte) tensor.dtype().code());
        to.putByte(at + TensorSection.FLAGS, (byte) (tensor.requiresGrad() ? TensorSection.REQUIRES_GRAD : 0));
        to.putByte(at + TensorSection.DIMENSIONS, (byte) dimensions);
        to.putShort(at + TensorSection.STORAGE, (short) storageNumber, LITTLE_ENDIAN);
        boolean cutOut = storage.clone != null;
        to.putLong(at + TensorSection.STORAGE_OFFSET, cutOut ? 0 : tensor.storageOffset(), LITTLE_ENDIAN);
        int strides = at + TensorSection.SIZES + 8 * dimensions;
        long contiguous = 1;
        for (int i = dimensions - 1; i >= 0; i--) {
            long size = tensor.size(i);
            to.putLong(at + TensorSection.SIZES + 8 * i, size, LITTLE_ENDIAN);
            to.putLong(strides + 8 * i, cutOut ? contiguous : tensor.stride(i), LITTLE_ENDIAN);
            contiguous *= Math.max(1, size);
        }
        return TensorSection.tensorLength(dimensions);
    }
}
