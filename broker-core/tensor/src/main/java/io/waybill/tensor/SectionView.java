package io.waybill.tensor;

import static io.waybill.tensor.TensorSection.ALIGNMENT;
import static java.nio.ByteOrder.LITTLE_ENDIAN;

import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reader of the tensor section of a record that has passed its own check. {@link #check} decides whether the bytes are
 * a tensor section; the getters may be used after it returned, and not before. No content makes it read outside the
 * section or allocate by a number that it has not compared with the section's length.
 *
 * <p><b>Threads.</b> Owned by one thread at a time. Reusable.
 */
final class SectionView {

    private static final int FIRST_TENSORS = 64;

    private UnsafeBuffer memory;
    private int start;
    private int end;
    private int storageCount;
    private int tensorCount;
    private int deviceCount;
    private int storagesAt;
    private int tensorsAt;
    private int[] tensorAt = new int[FIRST_TENSORS];

    /**
     * Checks the section.
     *
     * @throws MalformedRecordException with what was expected and what was found
     */
    void check(RecordView record) throws MalformedRecordException {
        check(record.buffer().memory(), record.sectionOffset(), record.sectionLength(), record.tensorCount());
    }

    void check(UnsafeBuffer bytes, int sectionOffset, int sectionLength, int tensorsExpected)
            throws MalformedRecordException {
        memory = bytes;
        start = sectionOffset;
        end = sectionOffset + sectionLength;
        if (sectionLength < TensorSection.HEADER_LENGTH || end > bytes.capacity()) {
            throw new MalformedRecordException("a tensor section has at least " + TensorSection.HEADER_LENGTH
                    + " bytes and ends with the record, this one has " + sectionLength);
        }
        int tablesEnd = checkHeader(sectionLength, tensorsExpected);
        checkDevices();
        checkTensors(tablesEnd);
        checkStorages(tablesEnd);
    }

    private int checkHeader(int sectionLength, int tensorsExpected) throws MalformedRecordException {
        int version = unsignedByte(start + TensorSection.VERSION_AT);
        if (version != TensorSection.VERSION) {
            throw new MalformedRecordException("the tensor section has version " + version
                    + "; this Waybill reads version " + TensorSection.VERSION);
        }
        storageCount = unsignedShort(start + TensorSection.STORAGE_COUNT);
        tensorCount = unsignedShort(start + TensorSection.TENSOR_COUNT);
        deviceCount = unsignedByte(start + TensorSection.DEVICE_COUNT);
        long tables = Integer.toUnsignedLong(memory.getInt(start + TensorSection.TABLES_LENGTH, LITTLE_ENDIAN));
        if (tensorCount != tensorsExpected || tensorCount < 1 || tensorCount > TensorSection.MAX_TENSORS) {
            throw new MalformedRecordException("the record has " + tensorsExpected + " tensors and its tensor section "
                    + tensorCount + "; expected the same number from 1 to " + TensorSection.MAX_TENSORS);
        }
        if (storageCount < 1 || storageCount > tensorCount || deviceCount > TensorSection.MAX_DEVICES) {
            throw new MalformedRecordException("a section of " + tensorCount
                    + " tensors has from 1 to as many storages and"
                    + " at most " + TensorSection.MAX_DEVICES + " devices, this one " + storageCount + " storages and "
                    + deviceCount + " devices");
        }
        storagesAt = start + TensorSection.HEADER_LENGTH + deviceCount * TensorSection.DEVICE_LENGTH;
        tensorsAt = storagesAt + storageCount * TensorSection.STORAGE_LENGTH;
        if (tables > sectionLength || start + tables < tensorsAt + (long) tensorCount * TensorSection.SIZES) {
            throw new MalformedRecordException("tables of " + deviceCount + " devices, " + storageCount
                    + " storages and "
                    + tensorCount + " tensors do not fit into the " + tables + " bytes of tables in a section of "
                    + sectionLength + " bytes");
        }
        if (memory.getShort(start + TensorSection.RESERVED_SHORT) != 0
                || memory.getInt(start + TensorSection.RESERVED_INT) != 0) {
            throw reserved("the tensor section's header");
        }
        return (int) (start + tables);
    }

    private void checkDevices() throws MalformedRecordException {
        for (int i = 0; i < deviceCount; i++) {
            int at = deviceAt(i);
            int length = unsignedByte(at + TensorSection.DEVICE_NAME_LENGTH);
            if (length < 1 || length > TensorSection.DEVICE_NAME_MAX || memory.getByte(at) < Device.ANY_INDEX) {
                throw new MalformedRecordException("device " + i + " has a name of 1 to "
                        + TensorSection.DEVICE_NAME_MAX + " bytes and an index from -1 to 127, not of " + length
                        + " bytes and " + memory.getByte(at));
            }
            for (int k = 0; k < TensorSection.DEVICE_NAME_MAX; k++) {
                int c = unsignedByte(at + TensorSection.DEVICE_NAME + k);
                boolean fits =
                        k >= length ? c == 0 : c >= 'a' && c <= 'z' || k > 0 && (c >= '0' && c <= '9' || c == '_');
                if (!fits) {
                    throw new MalformedRecordException("the name of device " + i
                            + " has small letters, digits and underscores, zeros behind it, and not 0x"
                            + Integer.toHexString(c) + " at " + k);
                }
            }
            if ((memory.getLong(at, LITTLE_ENDIAN) & ~0xffffL) != 0) {
                throw reserved("device " + i);
            }
        }
    }

    private void checkTensors(int tablesEnd) throws MalformedRecordException {
        if (tensorAt.length < tensorCount) { // the tables have room for this number
            tensorAt = new int[tensorCount];
        }
        int at = tensorsAt;
        for (int i = 0; i < tensorCount; i++) {
            if (tablesEnd - at < TensorSection.SIZES) {
                throw new MalformedRecordException("the entry of tensor " + i + " starts at " + at
                        + " of the record, behind its tables, which end at " + tablesEnd);
            }
            int dimensions = unsignedByte(at + TensorSection.DIMENSIONS);
            int length = TensorSection.tensorLength(dimensions);
            if (dimensions > TensorSection.MAX_DIMENSIONS || length > tablesEnd - at) {
                throw new MalformedRecordException("tensor " + i + " has at most " + TensorSection.MAX_DIMENSIONS
                        + " dimensions and ends before " + tablesEnd + ", not " + dimensions + " dimensions at " + at);
            }
            if (!DType.isKnown(unsignedByte(at))) {
                throw new MalformedRecordException("tensor " + i + " has the unknown element type " + unsignedByte(at));
            }
            int storage = unsignedShort(at + TensorSection.STORAGE);
            if (storage >= storageCount) {
                throw new MalformedRecordException(
                        "tensor " + i + " is over storage " + storage + " of " + storageCount + " storages");
            }
            if ((unsignedByte(at + TensorSection.FLAGS) & ~TensorSection.REQUIRES_GRAD) != 0
                    || memory.getByte(at + TensorSection.TENSOR_RESERVED_BYTE) != 0
                    || memory.getShort(at + TensorSection.TENSOR_RESERVED_SHORT) != 0) {
                throw reserved("tensor " + i);
            }
            tensorAt[i] = at;
            at += length;
        }
        if (at != tablesEnd) {
            throw new MalformedRecordException(
                    "the tables end at " + at + " of the record, and " + tablesEnd + " is written");
        }
    }

    private void checkStorages(int tablesEnd) throws MalformedRecordException {
        long used = tablesEnd;
        for (int i = 0; i < storageCount; i++) {
            int at = storageAt(i);
            int kind = unsignedByte(at);
            long size = size(i);
            long offset = offset(i);
            if (kind > TensorSection.SHARED || origin(i) > deviceCount || target(i) > deviceCount) {
                throw new MalformedRecordException("storage " + i + " is of kind 0 to 2 and on one of " + deviceCount
                        + " devices or cpu, not of kind " + kind + " on devices " + origin(i) + " and " + target(i));
            }
            if (size < 0 || offset < 0 || offset > Long.MAX_VALUE - size || offset % ALIGNMENT != 0) {
                throw new MalformedRecordException("storage " + i + " starts at a multiple of " + ALIGNMENT
                        + " and ends below 2^63, not at " + offset + " with " + size + " bytes");
            }
            if (kind == TensorSection.INLINE) {
                if (offset < tablesEnd || offset + size > end || segment(i) != 0 || lease(i) != 0) {
                    throw new MalformedRecordException(
                            "the inlined storage " + i + " lies between " + tablesEnd + " and "
                                    + end + " of the record and in no segment, not at " + offset + " with " + size
                                    + " bytes in segment " + segment(i));
                }
                used = Math.max(used, offset + size);
            } else if (kind == TensorSection.SHARED) {
                checkShared(i, tablesEnd);
                used = Math.max(used, offset + segment(i));
            } else if (segment(i) < 0) {
                throw new MalformedRecordException("storage " + i + " lies in a segment from 0 on, not " + segment(i));
            }
            if ((memory.getLong(at, LITTLE_ENDIAN) & ~0xffffffL) != 0) {
                throw reserved("storage " + i);
            }
        }
        if ((used + 7 & ~7L) != end) {
            throw new MalformedRecordException("the section's last byte in use is before " + used
                    + " of the record, and the section ends at " + end);
        }
    }

    private void checkShared(int storage, int tablesEnd) throws MalformedRecordException {
        long length = segment(storage);
        long offset = offset(storage);
        if (length < 1 || length > MemorySharing.MAX_HANDLE_BYTES || offset < tablesEnd || offset > end - length) {
            throw new MalformedRecordException("the handle of the shared storage " + storage + " has 1 to "
                    + MemorySharing.MAX_HANDLE_BYTES + " bytes between " + tablesEnd + " and " + end
                    + " of the record, not " + length + " bytes at " + offset);
        }
        Device from = device(origin(storage));
        Device to = device(target(storage));
        if (from.isCpu() || to.isCpu()) { // also when cpu has an entry with a number
            throw new MalformedRecordException("the shared storage " + storage
                    + " goes from a device to a device other than cpu, and not from " + from + " to " + to);
        }
    }

    private static MalformedRecordException reserved(String where) {
        return new MalformedRecordException("a flag or a reserved byte of " + where + " is set that version "
                + TensorSection.VERSION + " does not know");
    }

    int storageCount() {
        return storageCount;
    }

    int tensorCount() {
        return tensorCount;
    }

    boolean isInline(int storage) {
        return unsignedByte(storageAt(storage)) == TensorSection.INLINE;
    }

    boolean isShared(int storage) {
        return unsignedByte(storageAt(storage)) == TensorSection.SHARED;
    }

    /** Returns a copy of the handle of a shared storage. */
    byte[] handle(int storage) {
        byte[] handle = new byte[(int) segment(storage)];
        memory.getBytes((int) offset(storage), handle);
        return handle;
    }

    /** Returns the number of the sender's device that had a storage. */
    private int origin(int storage) {
        return unsignedByte(storageAt(storage) + TensorSection.ORIGIN);
    }

    private int target(int storage) {
        return unsignedByte(storageAt(storage) + TensorSection.TARGET);
    }

    /** Returns the receiver's device for a storage. Allocates unless that is {@code cpu}. */
    Device targetDevice(int storage) {
        return device(target(storage));
    }

    private Device device(int number) {
        if (number == TensorSection.CPU) {
            return Device.CPU;
        }
        int at = deviceAt(number - 1);
        String name = memory.getStringWithoutLengthAscii(
                at + TensorSection.DEVICE_NAME, unsignedByte(at + TensorSection.DEVICE_NAME_LENGTH));
        return new Device(name, memory.getByte(at));
    }

    long size(int storage) {
        return memory.getLong(storageAt(storage) + TensorSection.SIZE, LITTLE_ENDIAN);
    }

    /** Returns the offset from the segment's start for a storage in a segment, otherwise from the record's. */
    long offset(int storage) {
        return memory.getLong(storageAt(storage) + TensorSection.OFFSET, LITTLE_ENDIAN);
    }

    long segment(int storage) {
        return memory.getLong(storageAt(storage) + TensorSection.SEGMENT_ID, LITTLE_ENDIAN);
    }

    long lease(int storage) {
        return memory.getLong(storageAt(storage) + TensorSection.LEASE_ID, LITTLE_ENDIAN);
    }

    int storageOf(int tensor) {
        return unsignedShort(tensorAt[tensor] + TensorSection.STORAGE);
    }

    /**
     * Creates a tensor over its storage.
     *
     * @throws MalformedRecordException when its elements are not inside a storage of that size
     */
    Tensor tensor(int tensor, Storage storage) throws MalformedRecordException {
        int at = tensorAt[tensor];
        int dimensions = unsignedByte(at + TensorSection.DIMENSIONS);
        long[] sizes = new long[dimensions];
        long[] strides = new long[dimensions];
        for (int i = 0; i < dimensions; i++) {
            sizes[i] = memory.getLong(at + TensorSection.SIZES + 8 * i, LITTLE_ENDIAN);
            strides[i] = memory.getLong(at + TensorSection.SIZES + 8 * (dimensions + i), LITTLE_ENDIAN);
        }
        long offset = memory.getLong(at + TensorSection.STORAGE_OFFSET, LITTLE_ENDIAN);
        boolean requiresGrad = (memory.getByte(at + TensorSection.FLAGS) & TensorSection.REQUIRES_GRAD) != 0;
        try {
            return new Tensor(DType.of(unsignedByte(at)), sizes, strides, offset, requiresGrad, storage);
        } catch (IllegalArgumentException e) {
            throw new MalformedRecordException(
                    "tensor " + tensor + " of the record, sizes " + Arrays.toString(sizes) + ": " + e.getMessage());
        }
    }

    private int deviceAt(int device) {
        return start + TensorSection.HEADER_LENGTH + device * TensorSection.DEVICE_LENGTH;
    }

    private int storageAt(int storage) {
        return storagesAt + storage * TensorSection.STORAGE_LENGTH;
    }

    private int unsignedByte(int at) {
        return Byte.toUnsignedInt(memory.getByte(at));
    }

    private int unsignedShort(int at) {
        return Short.toUnsignedInt(memory.getShort(at, LITTLE_ENDIAN));
    }
}
